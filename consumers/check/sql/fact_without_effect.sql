SELECT f.id::text, 'fact', f.created_at
  FROM {{schema}}.consumer_fact AS f
 WHERE f.fact_type = {{type}} AND f.source = {{source}} AND f.created_at <= clock_timestamp() - $1::interval
   AND NOT EXISTS (SELECT FROM {{table}} AS e WHERE e.{{fact}} = f.id)
