-- An effect of its own for each duplicate, with a fact whose key has the duplicate's id.
WITH taken AS (
  SELECT e.*, {{reversal_key}} AS holdfast_key FROM {{table}} AS e WHERE e.{{id}}::text = ANY ($1)
), f AS (
  INSERT INTO {{schema}}.consumer_fact (source, account_id, fact_type, fact_key, attributes, event_source, event_id)
  SELECT {{source}}, e.{{account}}::text, {{reversal_type}}, e.holdfast_key, {{reversal_attributes}}, 'holdfast/repair', left($2 || ':' || e.{{id}}::text, 255)
    FROM taken AS e
   ORDER BY e.{{created}}, e.{{id}}
  RETURNING id, account_id, fact_key
)
INSERT INTO {{table}} ({{into}})
SELECT {{values}}
  FROM taken AS e
  JOIN f ON f.fact_key = e.holdfast_key AND f.account_id = e.{{account}}::text
 ORDER BY e.{{created}}, e.{{id}}
