-- The switch of a group. A group without a row runs.
SELECT EXISTS (SELECT FROM {{schema}}.consumer_control AS c WHERE c.consumer_group = $1 AND c.state = 'paused')
