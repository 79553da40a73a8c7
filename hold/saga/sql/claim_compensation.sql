-- Race: whatever happened since the operation was listed, such as a completion, a steal or the next
-- generation, is seen here, on the locked row. The new holder shuts out the old one.
WITH due AS (
  SELECT operation_id, state FROM {{.Schema}}.saga_operation
   WHERE operation_id = $1 AND generation = $2
     AND (state = 'in_progress' AND lease_expires_at <= clock_timestamp() - $5::interval
       OR state = 'compensating' AND next_attempt_at <= clock_timestamp()
          AND (lease_expires_at IS NULL OR lease_expires_at <= clock_timestamp()))
     FOR UPDATE SKIP LOCKED
), claimed AS (
  UPDATE {{.Schema}}.saga_operation o
     SET state = 'compensating', lease_holder = $3,
         lease_expires_at = clock_timestamp() + $4::interval * (1 + cardinality(o.participants)),
         attempts = CASE d.state WHEN 'in_progress' THEN 0 ELSE o.attempts END,
         updated_at = CASE d.state WHEN 'in_progress' THEN clock_timestamp() ELSE o.updated_at END
    FROM due d
   WHERE o.operation_id = d.operation_id
  RETURNING o.operation_id, o.generation, o.kind, o.participants, o.attempts, d.state AS state_before
), told AS (
  INSERT INTO {{.Schema}}.saga_audit (operation_id, generation, action, actor, state_before, state_after)
  SELECT c.operation_id, c.generation, 'compensate', $6, c.state_before, 'compensating'
    FROM claimed c WHERE c.state_before = 'in_progress'
)
SELECT kind, participants, attempts FROM claimed
