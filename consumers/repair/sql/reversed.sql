EXISTS (SELECT FROM {{schema}}.consumer_fact AS f
         WHERE f.source = {{source}} AND f.account_id = e.{{account}}::text AND f.fact_type = {{reversal_type}} AND f.fact_key = {{reversal_key}})
