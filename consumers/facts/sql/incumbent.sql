-- The fact that won, in a statement of its own: the snapshot of the claim may be older.
SELECT f.id, f.attributes
  FROM {{schema}}.consumer_fact AS f
 WHERE f.source = $1 AND f.account_id = $2 AND f.fact_type = $3 AND f.fact_key = $4
