-- Which of these keys have events waiting in the lane, so that later ones wait behind them,
-- and whether the lane has any such event at all. With $4 a dead letter blocks its key too.
SELECT ARRAY(
         SELECT k.key FROM unnest($3::text[]) AS k (key)
          WHERE EXISTS (SELECT FROM {{schema}}.outbox_retry r
                         WHERE r.relay_group = $1 AND r.lane = $2 AND r.partition_key = k.key)
             OR $4 AND EXISTS (SELECT FROM {{schema}}.outbox_dead_letter d
                         WHERE d.relay_group = $1 AND d.lane = $2 AND d.partition_key = k.key)
       ),
       EXISTS (SELECT FROM {{schema}}.outbox_retry r WHERE r.relay_group = $1 AND r.lane = $2)
       OR $4 AND EXISTS (SELECT FROM {{schema}}.outbox_dead_letter d WHERE d.relay_group = $1 AND d.lane = $2)
