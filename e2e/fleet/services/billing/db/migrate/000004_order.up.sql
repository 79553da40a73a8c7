ALTER TABLE invoices ADD COLUMN order_id text;
