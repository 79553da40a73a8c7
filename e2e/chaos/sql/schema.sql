-- The business tables of the load. What they say is the truth about what was committed.
CREATE SCHEMA chaos;
-- A row lock on the key serialises its writers, as one on an aggregate would.
CREATE TABLE chaos.key (key text PRIMARY KEY, version integer NOT NULL DEFAULT 0);
CREATE TABLE chaos.ledger (source text NOT NULL, event_id text NOT NULL, PRIMARY KEY (source, event_id));
CREATE TABLE chaos.decision (operation uuid NOT NULL, generation integer NOT NULL, released boolean NOT NULL, PRIMARY KEY (operation, generation));
