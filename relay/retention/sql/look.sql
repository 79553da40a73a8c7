-- Every slot, the one that is emptied next first, and what speaks against emptying it. $1 is how long
-- events stay, NULL for what the schema says.
SELECT l.slot, l.outcome, l.why, l.dated, l.bytes, l.events, l.dead
  FROM {{schema}}.retention_look($1::interval) AS l
