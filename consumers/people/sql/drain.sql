-- What the inbox says, and what nobody can see from here: sessions of other roles, of which not even the
-- kind is shown, and sessions that tell nothing because track_activities is off.
WITH look AS MATERIALIZED (
  SELECT coalesce($1::timestamptz, clock_timestamp()) AS cut
)
SELECT l.cut,
       (SELECT count(*) FROM pg_catalog.pg_stat_activity AS a
         WHERE a.datname = current_database() AND coalesce(a.backend_type, 'client backend') = 'client backend'
           AND (a.state IS NULL OR a.state = 'disabled')),
       (SELECT count(*) FROM pg_catalog.pg_prepared_xacts AS p WHERE p.database = current_database()),
       (SELECT count(*) FROM {{schema}}.consumer_inbox AS i WHERE i.consumer = ANY ($2) AND i.processed_at > l.cut),
       (SELECT max(i.processed_at) FROM {{schema}}.consumer_inbox AS i WHERE i.consumer = ANY ($2))
  FROM look AS l
