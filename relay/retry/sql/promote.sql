-- The head of a key has left: the next event of the key is due.
UPDATE {{schema}}.outbox_retry r
   SET next_visible_at = clock_timestamp(), updated_at = clock_timestamp()
 WHERE r.id = (SELECT n.id FROM {{schema}}.outbox_retry n
                WHERE n.relay_group = $1 AND n.lane = $2 AND n.partition_key = $3
                ORDER BY n.seq LIMIT 1)
   AND r.next_visible_at = 'infinity'
