SELECT count(*), count(*) FILTER (WHERE e.{{fact}} IS NULL) FROM {{table}} AS e WHERE {{canonical}}
