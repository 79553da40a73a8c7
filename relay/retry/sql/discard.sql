-- Removes dead letters for good, through the function of the schema, see requeue.sql.
SELECT * FROM {{schema}}.dead_letter_discard($1, $2, $3, $4)
