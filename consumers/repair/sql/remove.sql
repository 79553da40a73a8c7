DELETE FROM {{table}} AS e WHERE e.{{id}}::text = ANY ($1)
