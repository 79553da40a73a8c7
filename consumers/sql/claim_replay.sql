-- Takes one dead letter whose replay was requested, or whose replay somebody began and did not end.
-- Nothing stays locked: the token says whose it is, until the time that the database judges.
UPDATE {{schema}}.consumer_dead_letter AS d
   SET state = 'replaying', claim_token = gen_random_uuid(), claim_until = clock_timestamp() + $3::interval, changed_at = clock_timestamp()
  FROM (SELECT due.id
          FROM {{schema}}.consumer_dead_letter AS due
         WHERE due.consumer = $1 AND due.stream = $2
           AND (due.state = 'replay_requested' OR due.state = 'replaying' AND due.claim_until < clock_timestamp())
         ORDER BY due.changed_at, due.id
         LIMIT 1
           FOR UPDATE SKIP LOCKED) AS due
 WHERE d.id = due.id
RETURNING d.id, d.stream_seq, d.claim_token::text, coalesce(d.event_source, ''), coalesce(d.event_id, '')
