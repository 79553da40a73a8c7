-- Stages events in the order of the arrays; an array that is NULL is absent for all
-- of them. The casts tell the server the types in every protocol mode.
SELECT {{.Schema}}.publish_events(
  $1::text[], $2::text[], $3::text[], $4::text[], $5::text[],
  $6::text[], $7::text[], $8::text[], $9::text[], $10::bytea[])
