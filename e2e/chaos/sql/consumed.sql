-- The effects of the consumers, in a database of their own. Without a unique column a fact can have two
-- of them, and then the checker sees it: what is to be judged must be possible.
CREATE SCHEMA consumed;
CREATE TABLE consumed.effect (
  fact_id bigint NOT NULL REFERENCES outbox.consumer_fact (id),
  key     text   NOT NULL,
  version text   NOT NULL,
  digest  text   NOT NULL
);
CREATE INDEX effect_fact ON consumed.effect (fact_id);
