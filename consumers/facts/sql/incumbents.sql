-- The facts that won, in a statement of its own: the snapshot of the claim may be older. LIMIT keeps
-- the planner from joining whole tables, which a plan that was made for a small one would do for ever.
SELECT won.id, won.source, won.account_id, won.fact_type, won.fact_key, won.attributes
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS t (source, account_id, fact_type, fact_key)
 CROSS JOIN LATERAL (SELECT f.id, f.source, f.account_id, f.fact_type, f.fact_key, f.attributes
                       FROM {{schema}}.consumer_fact AS f
                      WHERE f.source = t.source AND f.account_id = t.account_id AND f.fact_type = t.fact_type AND f.fact_key = t.fact_key
                      LIMIT 1) AS won
