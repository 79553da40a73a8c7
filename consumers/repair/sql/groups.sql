-- Every key with more than one row: its ids, the one that stays first, and what speaks against a repair.
-- Equality of columns is that of their text.
WITH ordered AS (
  SELECT e.*, first_value(e.{{id}}) OVER (PARTITION BY e.{{account}}, {{parts}} ORDER BY e.{{created}}, e.{{id}}) AS holdfast_first
    FROM {{table}} AS e
   WHERE {{canonical}} AND NOT ({{keyless}})
)
SELECT array_agg(e.{{id}}::text ORDER BY e.{{created}}, e.{{id}}),
       array_agg(left({{status}}, 255) ORDER BY e.{{created}}, e.{{id}}),
       count(DISTINCT ROW({{compared}})::text) = 1,
       bool_and({{untouched}}),
       bool_or({{referenced}}),
       bool_or(e.{{fact}} IS NOT NULL AND e.{{id}} <> e.holdfast_first),
       bool_or({{reversed}})
  FROM ordered AS e
 GROUP BY e.{{account}}, {{parts}}
HAVING count(*) > 1
 ORDER BY min(e.{{created}}), min(e.{{id}}::text)
