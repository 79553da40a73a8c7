-- Facts of which somebody has decided every quarantine.
SELECT q.fact_id FROM {{schema}}.consumer_quarantine AS q GROUP BY q.fact_id HAVING bool_and(q.state = 'resolved')
