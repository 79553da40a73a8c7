SELECT d.id::text, d.reason_code, d.dead_at
  FROM {{schema}}.consumer_dead_letter AS d
 WHERE d.state = 'dead' AND d.dead_at <= clock_timestamp() - $1::interval
