INSERT INTO perdiem.ending (fact_id, placement, start, worker)
VALUES ($1, $2, $3, $4)
