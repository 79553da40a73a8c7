-- Whether the relay group exists, and the present second, which numbers a replay.
SELECT EXISTS (SELECT FROM {{schema}}.outbox_lane l WHERE l.relay_group = $1), extract(epoch FROM clock_timestamp())::bigint
