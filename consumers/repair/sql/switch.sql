-- Held until the commit: nobody opens the group before.
SELECT c.state FROM {{schema}}.consumer_control AS c WHERE c.consumer_group = $1 FOR SHARE
