SELECT f.account_id, f.fact_key, f.id, {{fact_values}},
       coalesce(f.created_at >= $1::timestamptz, true) AND coalesce(f.created_at < $2::timestamptz, true)
  FROM {{schema}}.consumer_fact AS f
 WHERE f.source = {{source}} AND f.fact_type = {{type}}
