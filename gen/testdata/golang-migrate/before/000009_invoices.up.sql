CREATE TABLE invoices (id bigint PRIMARY KEY);
