INSERT INTO wallet.entry (fact_id, wallet, kind, provider, cents, currency)
VALUES ($1, $2, $3, $4, $5, $6)
RETURNING id
