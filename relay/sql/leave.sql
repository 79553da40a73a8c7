-- Takes the pod out of the count of live pods.
DELETE FROM {{schema}}.outbox_relay r WHERE r.relay_group = $1 AND r.owner = $2
