-- In the order of all who lock more than one.
SELECT id FROM entity WHERE id = ANY ($1) ORDER BY id FOR UPDATE
