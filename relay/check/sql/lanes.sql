-- Who drains group $1, and whether a live pod is called $2.
SELECT count(*)::int AS lanes, count(*) FILTER (WHERE l.lease_until > clock_timestamp())::int AS owned,
       (SELECT count(*)::int FROM {{schema}}.outbox_relay r
         WHERE r.relay_group = $1 AND r.alive_until > clock_timestamp()) AS relays,
       EXISTS (SELECT FROM {{schema}}.outbox_relay r
                WHERE r.relay_group = $1 AND r.owner = $2 AND r.alive_until > clock_timestamp()) AS taken
  FROM {{schema}}.outbox_lane l
 WHERE l.relay_group = $1
