SELECT e.{{id}}::text FROM {{table}} AS e WHERE {{canonical}} AND {{keyless}} ORDER BY 1
