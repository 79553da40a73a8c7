SELECT e.{{id}}::text FROM {{table}} AS e WHERE {{canonical}} AND e.{{fact}} IS NULL ORDER BY 1
