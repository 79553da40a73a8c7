-- How many bytes the payload of an event may have, by what the migrations recorded; 0 when they
-- recorded nothing.
SELECT coalesce(max((s.parameters->>'max_event_bytes')::int), 0) FROM {{schema}}.holdfast_schema s WHERE s.component = 'outbox'
