-- What is known of a message that was given up, and whether it was this event: a stream that was
-- made anew gives its sequences to others.
SELECT d.state, d.reason_code, (d.event_source, d.event_id) IS NOT DISTINCT FROM ($4::text, $5::text)
  FROM {{schema}}.consumer_dead_letter AS d
 WHERE d.consumer = $1 AND d.stream = $2 AND d.stream_seq = $3
