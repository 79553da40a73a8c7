UPDATE payments.payments
   SET version = version + 1, state = 'captured'
 WHERE id = $1 AND state = 'authorized'
RETURNING order_id, amount_cents, version
