-- Gives a new relay group its lanes. Group "default" has them from the schema.
INSERT INTO {{schema}}.outbox_lane (relay_group, lane)
SELECT $1, l.lane FROM {{schema}}.outbox_lane l WHERE l.relay_group = 'default'
ON CONFLICT DO NOTHING
