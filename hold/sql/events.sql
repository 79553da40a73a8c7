-- One page of the held events of a generation, in staging order and without their payload.
SELECT seq, event_id, source, type, subject, partition_key, datacontenttype, data_bytes, staged_at
  FROM {{.Schema}}.hold_events(operation => $1::text, generation => $2::integer, after_seq => $3::bigint, most => $4::integer)
