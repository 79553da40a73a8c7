-- Only to a fact that says the same and has no effect: two effects never name one.
UPDATE {{table}} AS e
   SET {{fact}} = f.id
  FROM {{schema}}.consumer_fact AS f
 WHERE {{canonical}} AND e.{{fact}} IS NULL
   AND f.source = {{source}} AND f.fact_type = {{type}} AND f.account_id = e.{{account}}::text AND f.fact_key = {{key}}
   AND f.attributes = {{attributes}}
   AND NOT EXISTS (SELECT FROM {{table}} AS other WHERE other.{{fact}} = f.id)
