-- What was waiting for a decision before the upgrade gets it after.
SELECT outbox.hold_release('00000000-0000-4000-8000-00000000000a', 1, 'seed');
SELECT outbox.dead_letter_requeue('default', array_agg(id), 'seed', 'mended') FROM outbox.outbox_dead_letter WHERE event_id = 'seed-dead';
