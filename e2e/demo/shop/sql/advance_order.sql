-- Whoever comes second waits here for the first one's commit, then goes on from the state
-- and the version that the first one left. This is what keeps the events of an order
-- in order: the second event is staged after the first is committed.
UPDATE orders.orders
   SET version = version + 1,
       state = CASE state WHEN 'placed' THEN 'paid' ELSE 'shipped' END
 WHERE id = $1 AND state IN ('placed', 'paid')
RETURNING customer, total_cents, state, version
