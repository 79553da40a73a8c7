-- Beside the component consumer.
CREATE SCHEMA perdiem;

-- What another service tells us; looked up when an allowance is granted.
CREATE TABLE perdiem.rate (
  region  text   PRIMARY KEY,
  version bigint NOT NULL,
  cents   bigint NOT NULL CHECK (cents > 0) -- a day
);

-- Where activation and end of a placement meet.
CREATE TABLE perdiem.placement (
  placement text    NOT NULL,
  start     date    NOT NULL,
  ended     boolean NOT NULL,
  PRIMARY KEY (placement, start)
);

-- The effects of activations. Adjustments are made by people, as many as they like.
CREATE TABLE perdiem.allowance (
  id        bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  fact_id   bigint  UNIQUE REFERENCES outbox.consumer_fact (id),
  placement text    NOT NULL,
  start     date    NOT NULL,
  worker    text    NOT NULL,
  days      integer NOT NULL CHECK (days > 0),
  cents     bigint  NOT NULL,
  kind      text    NOT NULL CHECK (kind IN ('per_diem', 'adjustment')),
  status    text    NOT NULL CHECK (status IN ('due', 'paid', 'ended', 'void')),
  CONSTRAINT allowance_has_its_fact CHECK (kind = 'adjustment' OR fact_id IS NOT NULL)
);
-- One for ever: of its kind, and of any status.
CREATE UNIQUE INDEX allowance_once ON perdiem.allowance (placement, start) WHERE kind = 'per_diem';

-- The effects of ends.
CREATE TABLE perdiem.ending (
  fact_id   bigint NOT NULL UNIQUE REFERENCES outbox.consumer_fact (id),
  placement text   NOT NULL,
  start     date   NOT NULL,
  worker    text   NOT NULL,
  PRIMARY KEY (placement, start)
);
