-- Moves dead letters back to the waiting set. The function of the schema does it, so that an
-- operator's login may, who has no right on the tables.
SELECT * FROM {{schema}}.dead_letter_requeue($1, $2, $3, $4)
