-- It is held; or no group has drained it, its lane was left clean by everybody, and nothing of it waits.
(o.tx IS NULL OR NOT EXISTS (
    SELECT FROM {{schema}}.outbox_lane AS l
     WHERE l.lane = o.lane
       AND (l.lease_owner IS NOT NULL OR pg_visible_in_snapshot(o.tx, l.drained) OR l.target IS NOT NULL AND pg_visible_in_snapshot(o.tx, l.target)))
  AND NOT EXISTS (SELECT FROM {{schema}}.outbox_retry AS w WHERE w.lane = o.lane AND w.seq = o.seq)
  AND NOT EXISTS (SELECT FROM {{schema}}.outbox_dead_letter AS d WHERE d.lane = o.lane AND d.seq = o.seq))
