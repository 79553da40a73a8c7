-- One batch. Race with everybody: what is locked is skipped, and left for the next batch.
SELECT generations, receipts
  FROM {{.Schema}}.hold_prune(actor => $1::text, retention => $2::interval, most => $3::integer)
