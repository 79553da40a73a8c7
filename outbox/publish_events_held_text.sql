-- publish_events_held for drivers of database/sql: every parameter is text, the arrays
-- are array literals, and the second cast makes values of them.
SELECT {{.Schema}}.publish_events_held(
  $1::text, $2::text::integer,
  $3::text::text[], $4::text::text[], $5::text::text[], $6::text::text[], $7::text::text[],
  $8::text::text[], $9::text::text[], $10::text::text[], $11::text::text[], $12::text::bytea[])
