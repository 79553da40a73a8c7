-- Whether the relay group exists, and the present microsecond, which numbers a replay:
-- the stream drops what has the ids of another one.
SELECT EXISTS (SELECT FROM {{schema}}.outbox_lane l WHERE l.relay_group = $1), (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
