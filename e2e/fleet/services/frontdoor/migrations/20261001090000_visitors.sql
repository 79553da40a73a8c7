CREATE TABLE visitors (
  id         uuid        PRIMARY KEY,
  first_seen timestamptz NOT NULL DEFAULT now()
);
