-- The tables of the two services and of the checkout. A real shop has more of them,
-- and migrates them with a tool; the outbox is beside them in schema outbox.

CREATE SCHEMA orders;

CREATE TABLE orders.orders (
  id          uuid    PRIMARY KEY,
  customer    text    NOT NULL,
  total_cents bigint  NOT NULL,
  state       text    NOT NULL CHECK (state IN ('placed', 'paid', 'shipped', 'called off')),
  version     integer NOT NULL
);

-- One row per event: what the order service says it told the world.
CREATE TABLE orders.history (
  order_id       uuid    NOT NULL,
  version        integer NOT NULL,
  event_id       text    NOT NULL,
  event_type     text    NOT NULL,
  payload_sha256 bytea   NOT NULL,
  operation_id   uuid,
  generation     integer,
  PRIMARY KEY (order_id, version)
);

CREATE SCHEMA payments;

CREATE TABLE payments.payments (
  id           uuid    PRIMARY KEY,
  order_id     uuid    NOT NULL,
  amount_cents bigint  NOT NULL,
  state        text    NOT NULL CHECK (state IN ('authorized', 'captured', 'called off')),
  version      integer NOT NULL
);
CREATE INDEX ON payments.payments (order_id);

CREATE TABLE payments.history (
  payment_id     uuid    NOT NULL,
  version        integer NOT NULL,
  event_id       text    NOT NULL,
  event_type     text    NOT NULL,
  payload_sha256 bytea   NOT NULL,
  operation_id   uuid,
  generation     integer,
  PRIMARY KEY (payment_id, version)
);

CREATE SCHEMA checkout;

-- What the coordinator of a checkout decided, written with the decision.
CREATE TABLE checkout.operations (
  operation_id uuid    NOT NULL,
  generation   integer NOT NULL,
  order_id     uuid    NOT NULL,
  state        text    NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'completed', 'called off')),
  PRIMARY KEY (operation_id, generation)
);
