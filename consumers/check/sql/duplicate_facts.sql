-- The predicate is that of the unique index, and there is no other filter: not by status either.
SELECT min(e.{{id}}::text), string_agg(e.{{id}}::text, ' ' ORDER BY e.{{created}}, e.{{id}}), min(e.{{created}})
  FROM {{table}} AS e
 WHERE {{canonical}}
 GROUP BY e.{{account}}, {{parts}}
HAVING count(*) > 1 AND min(e.{{created}}) <= clock_timestamp() - $1::interval
