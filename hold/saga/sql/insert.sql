-- Race: of two that find no row one inserts. The other waits here, inserts nothing and reads again.
INSERT INTO {{.Schema}}.saga_operation
  (operation_id, kind, lease_holder, lease_expires_at, basis, request_digest, digest_key_id, participants)
VALUES ($1, $2, $3, clock_timestamp() + $4::interval, $5::text::jsonb, $6, $7, $8)
    ON CONFLICT (operation_id) DO NOTHING
RETURNING generation, basis::text, participants
