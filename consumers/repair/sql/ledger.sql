INSERT INTO {{schema}}.consumer_repair (relation, canonical_id, duplicate_id, prior_status, reason, row_snapshot)
SELECT $4, m.canonical, m.duplicate, m.status, $5, to_jsonb(e)
  FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS m (canonical, duplicate, status, n)
  JOIN {{table}} AS e ON e.{{id}}::text = m.duplicate
 ORDER BY m.n
