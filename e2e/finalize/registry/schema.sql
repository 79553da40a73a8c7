CREATE TABLE fact_key (
  id           uuid PRIMARY KEY,
  secret       bytea CHECK (octet_length(secret) = 32), -- null once it was destroyed
  destroyed_at timestamptz,
  CHECK ((secret IS NULL) = (destroyed_at IS NOT NULL))
);

-- operation_id and generation say which operation made it; null for an ordinary write.
CREATE TABLE entity (
  id           uuid PRIMARY KEY,
  kind         text NOT NULL CHECK (kind IN ('person', 'household', 'membership', 'income', 'asset')),
  household_id uuid REFERENCES entity,
  person_id    uuid REFERENCES entity,
  operation_id uuid,
  generation   integer,
  active       boolean NOT NULL DEFAULT true,
  CHECK ((kind = 'membership') = (household_id IS NOT NULL)),
  CHECK ((kind IN ('membership', 'income', 'asset')) = (person_id IS NOT NULL)),
  CHECK ((operation_id IS NULL) = (generation IS NULL))
);
CREATE INDEX entity_household ON entity (household_id) WHERE household_id IS NOT NULL;
CREATE INDEX entity_person ON entity (person_id) WHERE person_id IS NOT NULL;
CREATE INDEX entity_operation ON entity (operation_id, generation) WHERE operation_id IS NOT NULL;

CREATE TABLE fact (
  entity_id    uuid NOT NULL REFERENCES entity,
  number       integer NOT NULL CHECK (number > 0),
  key_id       uuid NOT NULL UNIQUE REFERENCES fact_key,
  sealed       bytea NOT NULL,
  operation_id uuid,
  generation   integer,
  recorded_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (entity_id, number),
  CHECK ((operation_id IS NULL) = (generation IS NULL))
);

-- The households of all applications, which the intake owns: imported before a sweep, and empty otherwise.
CREATE TABLE owned_household (
  id uuid PRIMARY KEY
);
