-- Whether this login may read the views that people read, and whether the relay group exists.
SELECT has_table_privilege('{{schema}}.event_outbox_info', 'SELECT'),
       has_table_privilege('{{schema}}.outbox_dead_letter_info', 'SELECT'),
       EXISTS (SELECT FROM {{schema}}.outbox_lane l WHERE l.relay_group = $1)
