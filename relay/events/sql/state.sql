(CASE
   WHEN e.tx IS NULL THEN 'held'
   WHEN EXISTS (SELECT FROM {{dead}} d WHERE d.relay_group = $1 AND d.lane = e.lane AND d.seq = e.seq) THEN 'dead'
   WHEN EXISTS (SELECT FROM {{schema}}.outbox_retry r WHERE r.relay_group = $1 AND r.lane = e.lane AND r.seq = e.seq) THEN 'waiting'
   WHEN coalesce((SELECT h.action FROM {{schema}}.outbox_dead_letter_history h
                   WHERE h.relay_group = $1 AND h.lane = e.lane AND h.seq = e.seq ORDER BY h.id DESC LIMIT 1), '') = 'discarded' THEN 'discarded'
   WHEN coalesce(pg_visible_in_snapshot(e.tx, l.drained)
                 OR l.target IS NOT NULL AND e.seq <= l.pos AND pg_visible_in_snapshot(e.tx, l.target), false) THEN 'published'
   ELSE 'waiting'
 END)
