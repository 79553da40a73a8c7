-- Reads the gate of (operation, generation), which must be active, and stages the
-- events held. An array that is NULL is absent for all of them.
SELECT {{.Schema}}.publish_events_held(
  $1::text, $2::integer,
  $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
  $8::text[], $9::text[], $10::text[], $11::text[], $12::bytea[])
