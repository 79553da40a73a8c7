e.lane, e.seq, e.slot, e.event_id, e.source, e.type, coalesce(e.subject, '') AS subject, e."time",
       coalesce(e.datacontenttype, '') AS datacontenttype, coalesce(e.dataschema, '') AS dataschema,
       coalesce(e.partition_key, '') AS partition_key, e.extensions, coalesce(e.data_bytes, 0) AS data_bytes,
       coalesce(e.hold_operation_id::text, '') AS operation, coalesce(e.hold_generation, 0) AS generation, e.staged_at
