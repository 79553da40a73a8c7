-- Gives every event the id that says in this cluster what the old one said in the other: see the
-- table in doc.go. $1 to $3 name the id for each set of groups that is not all of its lane's;
-- $4 is the last of these ids. With $5, events that were staged here get numbers from there on.
{{judged}}, numbered AS (
  SELECT j.slot, j.lane, j.seq, $5::bigint + row_number() OVER (ORDER BY j.seq) AS number
    FROM judged j
   WHERE j.here AND j.groups IS NULL AND $5::bigint IS NOT NULL
), placed AS (
  SELECT j.slot, j.lane, j.seq, j.tx AS old, coalesce(n.number, j.seq) AS number,
         CASE WHEN j.groups IS NULL THEN pg_current_xact_id()
              WHEN m.id IS NOT NULL THEN m.id::xid8
              WHEN pg_visible_in_snapshot(j.tx, pg_current_snapshot()) AND j.tx > $4::text::xid8 THEN j.tx
              ELSE '2'::xid8 END AS tx
    FROM judged j
    LEFT JOIN numbered n ON n.slot = j.slot AND n.lane = j.lane AND n.seq = j.seq
    LEFT JOIN unnest($1::smallint[], $2::text[], $3::text[]) AS m (lane, groups, id) ON m.lane = j.lane AND m.groups = j.groups::text
)
UPDATE {{schema}}.event_outbox e
   SET tx = p.tx, seq = p.number
  FROM placed p
 WHERE e.slot = p.slot AND e.lane = p.lane AND e.seq = p.seq AND p.tx <> p.old
