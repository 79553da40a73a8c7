SELECT count(*) FILTER (WHERE state = 'in_progress'),
       count(*) FILTER (WHERE state = 'compensating'),
       count(*) FILTER (WHERE state = 'stuck'),
       count(*) FILTER (WHERE state = 'completed'),
       count(*) FILTER (WHERE NOT kind = ANY ($1) AND state IN ('compensating', 'completed')
                           OR NOT kind = ANY ($1) AND state = 'in_progress' AND lease_expires_at <= statement_timestamp() - $2::interval),
       coalesce(greatest(clock_timestamp() - min(updated_at) FILTER (WHERE state = 'completed'), interval '0'), interval '0'),
       coalesce(greatest(clock_timestamp() - min(updated_at) FILTER (WHERE state = 'compensating'), interval '0'), interval '0'),
       (SELECT greatest(clock_timestamp() - r.ticked_at, interval '0') FROM {{.Schema}}.saga_reconciler r)
  FROM {{.Schema}}.saga_operation
 WHERE state IN ('in_progress', 'compensating') OR state = 'stuck' OR state = 'completed' AND NOT events_released
