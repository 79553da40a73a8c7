-- What is in each slot, exactly: reads the whole log, for a person who asks.
SELECT e.slot, count(*), count(*) FILTER (WHERE e.held), min(e.staged_at), max(e.staged_at)
  FROM {{schema}}.event_outbox_info e
 GROUP BY e.slot
