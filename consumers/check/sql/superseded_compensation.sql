-- Duplicates whose reversals, by the key that has the duplicate's id, are not one; and one that takes back
-- another sum.
SELECT e.{{id}}::text, 'reversals: ' || c.reversals, e.{{created}}
  FROM {{table}} AS e
 CROSS JOIN LATERAL (
   SELECT count(*) AS reversals, count(*) FILTER (WHERE r.{{account}} = e.{{account}} AND {{negated}}) AS matching
     FROM {{schema}}.consumer_fact AS f
     JOIN {{table}} AS r ON r.{{fact}} = f.id
    WHERE f.source = {{source}} AND f.account_id = e.{{account}}::text AND f.fact_type = {{reversal_type}} AND f.fact_key = {{reversal_key}}) AS c
 WHERE {{effect}} AND e.{{marker}} = 'superseded_duplicate' AND e.{{created}} <= clock_timestamp() - $1::interval
   AND (c.reversals, c.matching) <> (1, 1)
