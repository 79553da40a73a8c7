-- The first of what breaks an invariant, the oldest first, and how many there are. Ids and names: no value.
WITH found (id, what, since) AS MATERIALIZED (
{{query}}
)
SELECT f.id, f.what, f.since, count(*) OVER () FROM found AS f ORDER BY f.since NULLS FIRST, f.id LIMIT $2
