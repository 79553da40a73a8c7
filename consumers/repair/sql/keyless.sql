SELECT e.{{id}}::text FROM {{table}} AS e WHERE {{canonical}} AND num_nulls(e.{{account}}, {{parts}}) > 0 ORDER BY 1
