-- The marker, and nothing else of a row.
UPDATE {{table}} AS e SET {{marker}} = 'superseded_duplicate' WHERE e.{{id}}::text = ANY ($1) AND e.{{marker}} = 'canonical'
