-- A turn, so that a second reconciler finds something else to do. It protects nothing: a release
-- can be repeated.
UPDATE {{.Schema}}.saga_operation
   SET next_attempt_at = clock_timestamp() + $3::interval * (1 + cardinality(participants))
 WHERE operation_id = $1 AND generation = $2 AND state = 'completed' AND NOT events_released
   AND next_attempt_at <= clock_timestamp()
RETURNING kind, participants, attempts
