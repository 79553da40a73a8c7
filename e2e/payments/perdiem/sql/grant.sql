INSERT INTO perdiem.allowance (fact_id, placement, start, worker, days, cents, kind, status)
VALUES ($1, $2, $3, $4, $5, $6, 'per_diem', $7)
