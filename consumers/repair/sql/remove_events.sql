DELETE FROM {{schema}}.event_outbox AS o
 USING unnest($1::text[]) AS m (duplicate)
 WHERE o.type IN ({{types}}) AND m.duplicate = CASE o.type {{matches}} END
   AND {{kept}}
