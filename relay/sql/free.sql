-- Whether a claim would find anything; reads only.
SELECT EXISTS (SELECT FROM {{schema}}.outbox_lane l
                WHERE l.relay_group = $1 AND (l.lease_until IS NULL OR l.lease_until <= clock_timestamp()))
