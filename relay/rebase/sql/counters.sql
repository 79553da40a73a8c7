-- The identity columns of our tables, whose sequences a logical copy leaves behind.
SELECT format('%I.%I', n.nspname, c.relname), quote_ident(a.attname),
       pg_get_serial_sequence(format('%I.%I', n.nspname, c.relname), a.attname)
  FROM pg_catalog.pg_attribute a
  JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = '{{schema}}' AND a.attidentity <> '' AND NOT a.attisdropped
   AND c.relname IN ('outbox_batch', 'outbox_retry', 'outbox_dead_letter', 'outbox_dead_letter_history', 'hold_audit')
 ORDER BY c.relname
