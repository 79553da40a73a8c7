INSERT INTO payments.payments (id, order_id, amount_cents, state, version)
VALUES ($1, $2, $3, 'authorized', 1)
