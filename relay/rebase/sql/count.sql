-- How many events of each lane are drained for which set of groups.
{{judged}}
SELECT j.lane, coalesce(j.groups, '{}'), coalesce(j.groups::text, ''), count(*), count(*) FILTER (WHERE j.kept), count(*) FILTER (WHERE j.uncertain),
       count(*) FILTER (WHERE j.here AND j.groups IS NULL), min(j.staged_at), max(j.staged_at)
  FROM judged j
 GROUP BY j.lane, j.groups
 ORDER BY j.lane, j.groups
