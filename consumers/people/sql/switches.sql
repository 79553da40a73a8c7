SELECT c.consumer_group, c.state = 'paused', c.changed_by, c.reason, c.changed_at
  FROM {{schema}}.consumer_control AS c
 WHERE $1::text = '' OR c.consumer_group = $1
 ORDER BY c.consumer_group
