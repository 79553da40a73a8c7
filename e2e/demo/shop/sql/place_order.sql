INSERT INTO orders.orders (id, customer, total_cents, state, version)
VALUES ($1, $2, $3, 'placed', 1)
