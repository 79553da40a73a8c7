-- publish_events for drivers of database/sql: every parameter is text, the arrays are
-- array literals, and the second cast makes values of them.
SELECT {{.Schema}}.publish_events(
  $1::text::text[], $2::text::text[], $3::text::text[], $4::text::text[], $5::text::text[],
  $6::text::text[], $7::text::text[], $8::text::text[], $9::text::text[], $10::text::bytea[])
