-- Rows that no claim takes, because something is wrong with them.
SELECT r.id, r.lane, r.seq, r.event_id,
       CASE WHEN EXISTS (SELECT FROM {{schema}}.outbox_dead_letter d
                          WHERE d.relay_group = r.relay_group AND d.lane = r.lane AND d.seq = r.seq) THEN 'is a dead letter as well'
            WHEN r.row_version = 9223372036854775807 THEN 'has no further row version'
            ELSE 'has an unknown reason code or a digest that is not one' END
  FROM {{schema}}.outbox_retry r
 WHERE r.relay_group = $1
   AND (r.row_version = 9223372036854775807
        OR r.work_kind <> 'parked' AND (r.reason_code IS NULL OR r.reason_code <> ALL ($2::text[])
                                        OR octet_length(r.reason_detail_sha256) IS DISTINCT FROM 32)
        OR EXISTS (SELECT FROM {{schema}}.outbox_dead_letter d
                    WHERE d.relay_group = r.relay_group AND d.lane = r.lane AND d.seq = r.seq))
 ORDER BY r.id
 LIMIT $3
