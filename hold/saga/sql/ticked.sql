UPDATE {{.Schema}}.saga_reconciler SET ticked_at = clock_timestamp() WHERE one
