-- Parked events whose head left at the very moment they were parked: neither transaction saw
-- the other. They are due.
UPDATE {{schema}}.outbox_retry r
   SET next_visible_at = clock_timestamp(), updated_at = clock_timestamp()
 WHERE r.relay_group = $1 AND r.next_visible_at = 'infinity'
   AND NOT EXISTS (SELECT FROM {{schema}}.outbox_retry h
                    WHERE h.relay_group = r.relay_group AND h.lane = r.lane
                      AND h.partition_key = r.partition_key AND h.seq < r.seq)
