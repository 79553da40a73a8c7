-- All changes of lanes, in the order in which they were made.
SELECT began, at, session, lane,
       coalesce(before_owner, ''), coalesce(before_token::text, ''), before_until, before_drained::text, before_target::text, coalesce(before_pos, 0),
       coalesce(after_owner, ''), coalesce(after_token::text, ''), after_until, after_drained::text, after_target::text, coalesce(after_pos, 0)
  FROM witness.move
 ORDER BY id
