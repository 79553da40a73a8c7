SELECT h.at, h.state, h.actor, h.reason, h.attempts
  FROM {{schema}}.consumer_dead_letter_history AS h
 WHERE h.dead_letter_id = $1
 ORDER BY h.id
