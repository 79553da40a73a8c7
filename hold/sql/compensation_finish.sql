-- Race with another finish: both lock the row of the generation, and one makes the change.
SELECT undone, quarantined, pending, changed
  FROM {{.Schema}}.compensation_finish(operation => $1::text, generation => $2::integer, actor => $3::text)
