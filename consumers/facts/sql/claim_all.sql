-- The arbiter for several facts. Rows are inserted in the order of their identity, so that two
-- transactions with the same facts wait for each other and never in a circle. The attributes come as
-- texts, which every protocol mode of pgx can send.
INSERT INTO {{schema}}.consumer_fact (source, account_id, fact_type, fact_key, attributes, event_source, event_id)
SELECT t.source, t.account_id, t.fact_type, t.fact_key, t.attributes::jsonb, t.event_source, t.event_id
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
       AS t (source, account_id, fact_type, fact_key, attributes, event_source, event_id)
 ORDER BY t.source, t.account_id, t.fact_type, t.fact_key
ON CONFLICT ON CONSTRAINT consumer_fact_identity DO NOTHING
RETURNING id, source, account_id, fact_type, fact_key
