-- The service's query, for one candidate or for all. What it does with $1 is its own choice: the
-- rows of others are left out here.
WITH given AS MATERIALIZED (
{{.Candidates}}
)
SELECT g.id::text, g.marked, g.made_at, g.entity_kind::text, g.entity_id::text,
       g.made_at > clock_timestamp() - make_interval(secs => $2::float8) AS young
  FROM given AS g
 WHERE $1::text IS NULL OR g.id::text = $1::text
 ORDER BY 1, 4, 5
