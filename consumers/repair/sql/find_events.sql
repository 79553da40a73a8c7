-- Events that tell of rows that go. The CASE keeps payloads of other types from being read as JSON.
SELECT m.duplicate, {{kept}}
  FROM {{schema}}.event_outbox AS o
  JOIN unnest($1::text[]) AS m (duplicate) ON o.type IN ({{types}}) AND m.duplicate = CASE o.type {{matches}} END
 ORDER BY o.seq
