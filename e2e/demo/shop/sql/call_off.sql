-- Nobody downstream learned of the order, so undoing it tells nobody either.
WITH orders AS (
  UPDATE orders.orders SET state = 'called off' WHERE id = $1
)
UPDATE payments.payments SET state = 'called off' WHERE order_id = $1
