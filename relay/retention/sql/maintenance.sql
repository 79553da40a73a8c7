-- Who looks after retention, what was done last, and by which clock and cycle.
SELECT CASE WHEN m.lease_until > clock_timestamp() THEN m.lease_owner ELSE '' END,
       m.rotated_at, m.rotated_slot, m.refused_at, m.refused_slot, coalesce(m.refused_why, ''),
       clock_timestamp(), (s.parameters->>'slots')::int, (s.parameters->>'period_seconds')::int
  FROM {{schema}}.outbox_maintenance m
 CROSS JOIN {{schema}}.holdfast_schema s
 WHERE s.component = 'outbox'
