SELECT d.id::text, d.state, d.changed_at
  FROM {{schema}}.consumer_dead_letter AS d
 WHERE d.state IN ('replay_requested', 'replaying') AND d.changed_at <= clock_timestamp() - $1::interval
