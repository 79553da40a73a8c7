-- Drops the rows of pods that were killed and never came back.
DELETE FROM {{schema}}.outbox_relay r WHERE r.alive_until < clock_timestamp() - interval '1 day'
