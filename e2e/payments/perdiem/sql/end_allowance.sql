-- What was paid stays paid.
UPDATE perdiem.allowance SET status = 'ended'
 WHERE placement = $1 AND start = $2 AND kind = 'per_diem' AND status = 'due'
