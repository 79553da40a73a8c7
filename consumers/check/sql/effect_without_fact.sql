SELECT e.{{id}}::text, 'effect', e.{{created}}
  FROM {{table}} AS e
 WHERE {{canonical}} AND e.{{created}} <= clock_timestamp() - $1::interval
   AND NOT EXISTS (SELECT FROM {{schema}}.consumer_fact AS f WHERE f.id = e.{{fact}})
