SELECT q.id::text, 'fact ' || q.fact_id, q.created_at
  FROM {{schema}}.consumer_quarantine AS q
 WHERE q.state = 'open' AND q.created_at <= clock_timestamp() - $1::interval
