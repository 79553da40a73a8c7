-- Turns the switch of a group, and says whether that changed it. The reason is that of the
-- last change.
WITH before AS (
  SELECT c.state FROM {{schema}}.consumer_control AS c WHERE c.consumer_group = $1
), turned AS (
  INSERT INTO {{schema}}.consumer_control AS c (consumer_group, state, changed_by, reason)
  VALUES ($1, $2, $3, $4)
  ON CONFLICT ON CONSTRAINT consumer_control_pkey DO UPDATE
     SET state = EXCLUDED.state, changed_by = EXCLUDED.changed_by, reason = EXCLUDED.reason, changed_at = clock_timestamp()
   WHERE c.state <> EXCLUDED.state
  RETURNING 1
)
SELECT coalesce((SELECT b.state FROM before AS b), 'running') <> $2::text AND EXISTS (SELECT FROM turned)
