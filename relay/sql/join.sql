-- Gives a new relay group its lanes. Group "default" has them from the schema. A rotation holds the
-- row of the maintenance for itself from before it judges a slot, so a group that joins is either seen
-- by the judge or joins after the slot is empty.
WITH between_rotations AS (
  SELECT FROM {{schema}}.outbox_maintenance FOR SHARE
)
INSERT INTO {{schema}}.outbox_lane (relay_group, lane)
SELECT $1, l.lane FROM {{schema}}.outbox_lane l, (SELECT count(*) FROM between_rotations) AS b
 WHERE l.relay_group = 'default'
ON CONFLICT DO NOTHING
