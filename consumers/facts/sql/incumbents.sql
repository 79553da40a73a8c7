-- The facts that won, in a statement of its own: the snapshot of the claim may be older.
SELECT f.id, f.source, f.account_id, f.fact_type, f.fact_key, f.attributes
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS t (source, account_id, fact_type, fact_key)
  JOIN {{schema}}.consumer_fact AS f
    ON f.source = t.source AND f.account_id = t.account_id AND f.fact_type = t.fact_type AND f.fact_key = t.fact_key
