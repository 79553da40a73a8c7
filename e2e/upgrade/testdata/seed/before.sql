-- Data of every kind, as the services and the relay of an older release leave it.
SELECT outbox.publish_text('/seed', 'seed.plain', json_build_object('version', n)::text, id => 'seed-plain-' || n, partitionkey => 'seed-plain',
                           extensions => '{"tenant":"a"}') FROM generate_series(1, 50) AS n ORDER BY n;

-- Held, and undecided until after the upgrade.
SELECT outbox.hold_register('00000000-0000-4000-8000-00000000000a', 1, 'seed');
SELECT outbox.publish_held_text('00000000-0000-4000-8000-00000000000a', 1, '/seed', 'seed.held', json_build_object('version', n)::text,
                                id => 'seed-held-' || n, partitionkey => 'seed-held') FROM generate_series(1, 5) AS n ORDER BY n;
SELECT outbox.receipt_begin('00000000-0000-4000-8000-00000000000a', 1, 'household', 'person', repeat('ab', 32), 'person-1');

-- Cancelled: a tombstone stays.
SELECT outbox.hold_register('00000000-0000-4000-8000-00000000000b', 3, 'seed');
SELECT outbox.publish_held_text('00000000-0000-4000-8000-00000000000b', 3, '/seed', 'seed.dropped', '{"version":1}', id => 'seed-dropped', partitionkey => 'seed-dropped');
SELECT outbox.hold_cancel('00000000-0000-4000-8000-00000000000b', 3, 'seed', 'changed its mind');

-- Given up, and requeued after the upgrade.
INSERT INTO outbox.outbox_dead_letter (seq, staged_at, attempts, lane, relay_group, reason_code, reason_detail_sha256, event_id, source, type,
                                       time, datacontenttype, partition_key, extensions, data)
VALUES (9000000000, now(), 12, 3, 'default', 'rejected', sha256('why'), 'seed-dead', '/seed', 'seed.dead', now(), 'application/json', 'seed-dead', '{}', '{"version":1}');
INSERT INTO outbox.outbox_dead_letter_history (dead_letter_id, seq, attempts, requeue_epoch, lane, relay_group, event_id, action, actor, reason)
SELECT id, seq, attempts, requeue_epoch, lane, relay_group, event_id, 'dead-lettered', 'seed', 'refused 12 times' FROM outbox.outbox_dead_letter;
