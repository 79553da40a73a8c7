INSERT INTO checkout.operations (operation_id, generation, order_id) VALUES ($1, $2, $3)
