WITH told AS (
  SELECT '/orders' AS source, order_id AS key, h.* FROM orders.history h
  UNION ALL
  SELECT '/payments', payment_id, h.* FROM payments.history h
)
SELECT t.event_id, t.source, t.event_type, t.key::text, t.version, t.payload_sha256,
       CASE WHEN t.operation_id IS NULL    THEN 'free'
            WHEN o.state = 'completed'     THEN 'released'
            WHEN o.state = 'called off'    THEN 'dropped'
            ELSE 'held' END
  FROM told t
  LEFT JOIN checkout.operations o USING (operation_id, generation)
