SELECT c.state, c.changed_by, c.reason, c.changed_at
  FROM {{schema}}.consumer_control AS c
 WHERE c.consumer_group = $1
