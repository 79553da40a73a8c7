-- The switch of a group, as a condition of the commit behind it: no row, or an error that says why. Postgres has no
-- assertion; a text that is no number is an error which shows the text.
SELECT ('holdfast: group ' || c.consumer_group || ' is paused: nothing was committed')::int
  FROM {{schema}}.consumer_control AS c
 WHERE c.consumer_group = $1 AND c.state = 'paused'
