-- Rows that no claim takes, because something is wrong with them.
SELECT r.id, r.lane, r.seq, r.event_id,
       CASE WHEN EXISTS (SELECT FROM {{schema}}.outbox_dead_letter d
                          WHERE d.relay_group = r.relay_group AND d.lane = r.lane AND d.seq = r.seq) THEN 'is a dead letter as well'
            WHEN r.row_version = 9223372036854775807 THEN 'has no further row version'
            WHEN num_nulls(r.lease_owner, r.lease_token, r.lease_until) NOT IN (0, 3) THEN 'has a part of a lease'
            ELSE 'has attempts, a reason code or a digest that do not fit together' END
  FROM {{schema}}.outbox_retry r
 WHERE r.relay_group = $1
   AND (NOT {{sound}}
        OR EXISTS (SELECT FROM {{schema}}.outbox_dead_letter d
                    WHERE d.relay_group = r.relay_group AND d.lane = r.lane AND d.seq = r.seq))
 ORDER BY r.id
 LIMIT $2
