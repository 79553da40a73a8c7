-- Whether the relay group exists.
SELECT EXISTS (SELECT FROM {{schema}}.outbox_lane l WHERE l.relay_group = $1)
