-- Beside the components consumer, for the facts, and outbox, for what the service tells others.
CREATE SCHEMA wallet;

-- The effects: each has the fact that it is of.
CREATE TABLE wallet.entry (
  id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  fact_id  bigint NOT NULL UNIQUE REFERENCES outbox.consumer_fact (id),
  wallet   text   NOT NULL,
  kind     text   NOT NULL CHECK (kind IN ('payment', 'refund')),
  provider text   NOT NULL, -- the provider's id of the payment or the refund
  cents    bigint NOT NULL CHECK (CASE kind WHEN 'payment' THEN cents > 0 ELSE cents < 0 END),
  currency text   NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
  CONSTRAINT entry_once UNIQUE (wallet, kind, provider)
);

-- Written together with each entry, and by nothing else.
CREATE TABLE wallet.balance (
  wallet   text   NOT NULL,
  currency text   NOT NULL,
  cents    bigint NOT NULL,
  PRIMARY KEY (wallet, currency)
);
