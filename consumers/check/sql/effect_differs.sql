SELECT e.{{id}}::text, 'fact ' || f.id, e.{{created}}
  FROM {{table}} AS e
  JOIN {{schema}}.consumer_fact AS f ON f.id = e.{{fact}}
 WHERE {{canonical}} AND e.{{created}} <= clock_timestamp() - $1::interval
   AND (f.fact_type = {{type}} AND f.source = {{source}} AND f.account_id = e.{{account}}::text AND f.fact_key = {{key}} AND {{same}}) IS NOT TRUE
