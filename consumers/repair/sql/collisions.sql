-- What the index would refuse, by the predicate of the index.
SELECT count(*) FROM (SELECT FROM {{table}} AS e WHERE {{canonical}} GROUP BY e.{{account}}, {{parts}} HAVING count(*) > 1) AS c
