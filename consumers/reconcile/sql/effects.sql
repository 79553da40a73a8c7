SELECT coalesce(e.{{account}}::text, ''), coalesce({{key}}, ''), e.{{id}}::text, coalesce(e.{{fact}}, 0), {{effect_values}},
       coalesce(e.{{created}} >= $1::timestamptz, true) AND coalesce(e.{{created}} < $2::timestamptz, true)
  FROM {{table}} AS e
 WHERE {{canonical}}
 ORDER BY e.{{id}}
