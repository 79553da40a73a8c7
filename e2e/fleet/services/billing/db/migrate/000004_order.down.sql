ALTER TABLE invoices DROP COLUMN order_id;
