CREATE TABLE invoices (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  amount bigint NOT NULL
);
