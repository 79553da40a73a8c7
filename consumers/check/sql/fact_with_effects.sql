SELECT f.id::text, string_agg(e.{{id}}::text, ' ' ORDER BY e.{{id}}), f.created_at
  FROM {{schema}}.consumer_fact AS f
  JOIN {{table}} AS e ON e.{{fact}} = f.id
 WHERE f.created_at <= clock_timestamp() - $1::interval
 GROUP BY f.id
HAVING count(*) > 1
