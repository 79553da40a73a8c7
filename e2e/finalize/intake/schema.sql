CREATE TABLE draft (
  id         uuid PRIMARY KEY,
  expires_at timestamptz NOT NULL
);
CREATE INDEX draft_expires_at ON draft (expires_at);

CREATE TABLE application (
  id           uuid PRIMARY KEY,
  household_id uuid NOT NULL UNIQUE,
  filed_on     date NOT NULL,
  received_at  timestamptz NOT NULL,
  consent      boolean NOT NULL
);
