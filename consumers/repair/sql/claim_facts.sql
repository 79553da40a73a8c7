INSERT INTO {{schema}}.consumer_fact (source, account_id, fact_type, fact_key, attributes, event_source, event_id)
SELECT {{source}}, e.{{account}}::text, {{type}}, {{key}}, {{attributes}}, 'holdfast/repair', left($1 || ':' || e.{{id}}::text, 255)
  FROM {{table}} AS e
 WHERE {{canonical}} AND e.{{fact}} IS NULL
 ORDER BY e.{{created}}, e.{{id}}
    ON CONFLICT ON CONSTRAINT consumer_fact_identity DO NOTHING
