-- Keeps this pod alive and its lanes its own, in one statement. A lane that was idle moves
-- its cursor and its stream sequence forward too, but only from where this pod knows it to be, so that a settle that
-- came first wins, and only with a snapshot of this incarnation of the server.
WITH alive AS (
  INSERT INTO {{schema}}.outbox_relay AS r (relay_group, owner, version, alive_until)
  VALUES ($1, $2, $3, clock_timestamp() + $4::interval)
  ON CONFLICT (relay_group, owner) DO UPDATE SET alive_until = excluded.alive_until, version = excluded.version
), renewed AS (
  UPDATE {{schema}}.outbox_lane l
     SET lease_until = clock_timestamp() + $4::interval,
         drained = CASE WHEN l.target IS NULL AND l.drained::text = m.stored AND m.incarnation = {{incarnation}} THEN m.drained::pg_snapshot ELSE l.drained END,
         stream_seq = CASE WHEN m.known > 0 AND l.target IS NULL AND l.drained::text = m.stored AND m.incarnation = {{incarnation}} THEN m.known ELSE l.stream_seq END
    FROM unnest($5::smallint[], $6::text[]::uuid[], $7::text[], $8::text[], $9::text[], $10::bigint[]) AS m (lane, token, stored, drained, incarnation, known)
   WHERE l.relay_group = $1 AND l.lane = m.lane AND l.lease_token = m.token AND l.lease_until > clock_timestamp()
  RETURNING l.lane
)
SELECT ARRAY(SELECT lane FROM renewed)::smallint[],
       (SELECT count(*) FROM {{schema}}.outbox_relay r
         WHERE r.relay_group = $1 AND r.owner <> $2 AND r.alive_until > clock_timestamp()) + 1,
       (SELECT count(*) FROM {{schema}}.outbox_lane l WHERE l.relay_group = $1)
