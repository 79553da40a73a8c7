-- One decision of each kind, a minute apart by table, and what is none. The actions of holds and
-- operations are those that the schema allows.
INSERT INTO outbox.hold_audit (at, operation_id, generation, action, actor, reason, item)
SELECT '2026-11-01 10:00Z', '0192f0c1-0000-7000-8000-000000000001', 2, m[1], 'checkout', CASE m[1] WHEN 'release' THEN 'committed' END,
       CASE m[1] WHEN 'drop-event' THEN 'e-1' END
  FROM pg_constraint AS c, regexp_matches(pg_get_constraintdef(c.oid), '''([a-z_-]+)''::text', 'g') AS m
 WHERE c.conrelid = 'outbox.hold_audit'::regclass AND c.conname = 'hold_audit_action_check';

INSERT INTO outbox.saga_audit (at, operation_id, generation, action, actor, reason, state_before, state_after)
SELECT '2026-11-01 10:01Z', '0192f0c1-0000-7000-8000-000000000002', 1, m[1], 'reconciler', CASE m[1] WHEN 'order_abort' THEN 'customer left' END, 'x', 'y'
  FROM pg_constraint AS c, regexp_matches(pg_get_constraintdef(c.oid), '''([a-z_-]+)''::text', 'g') AS m
 WHERE c.conrelid = 'outbox.saga_audit'::regclass AND c.conname = 'saga_audit_action_check';

INSERT INTO outbox.outbox_dead_letter_history (at, dead_letter_id, seq, attempts, requeue_epoch, lane, relay_group, event_id, action, actor, reason)
SELECT '2026-11-01 10:02Z', 7, 1, 13, 0, 1, 'default', 'e-7', m[1], 'alice', 'limit raised'
  FROM pg_constraint AS c, regexp_matches(pg_get_constraintdef(c.oid), '''([a-z_-]+)''::text', 'g') AS m
 WHERE c.conrelid = 'outbox.outbox_dead_letter_history'::regclass AND c.conname = 'outbox_dead_letter_history_action_check';

INSERT INTO outbox.consumer_dead_letter_history (at, dead_letter_id, stream_seq, attempts, consumer, stream, state, actor, reason)
SELECT '2026-11-01 10:03Z', 8, 4, 5, 'ledger', 'ORDERS', state, 'alice', 'handler mended'
  FROM unnest('{dead,replay_requested,resolved,discarded}'::text[]) AS state;
INSERT INTO outbox.consumer_control (changed_at, consumer_group, state, changed_by, reason)
VALUES ('2026-11-01 10:04Z', 'ledger', 'paused', 'bob', 'cut-over'), ('2026-11-01 10:05Z', 'mail', 'running', 'bob', 'mended');
INSERT INTO outbox.consumer_fact (source, account_id, fact_type, fact_key, event_source, event_id, attributes)
VALUES ('provider', 'a', 'refund', 'k', '/provider', 'e-9', '{"amount": "SECRET"}');
INSERT INTO outbox.consumer_quarantine (resolved_at, fact_id, consumer, event_source, event_id, event_type, reason, state, resolved_by, resolution, difference)
SELECT '2026-11-01 10:06Z', f.id, 'ledger', '/provider', 'e-10', 'refund.made', 'attribute_mismatch', 'resolved', 'carol', 'wrong amount', '{}' FROM outbox.consumer_fact AS f;
INSERT INTO outbox.consumer_quarantine (fact_id, consumer, event_source, event_id, event_type, reason, difference)
SELECT f.id, 'ledger', '/provider', 'e-11', 'refund.made', 'ambiguous', '{}' FROM outbox.consumer_fact AS f;
INSERT INTO outbox.consumer_repair (created_at, relation, canonical_id, duplicate_id, prior_status, reason, row_snapshot)
VALUES ('2026-11-01 10:07Z', 'public.refund', '1', '2', 'booked', 'two (or more) runs (dave)', '{"amount": "SECRET"}');
