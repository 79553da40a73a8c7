-- How many events the settled batches count.
SELECT coalesce(sum(events), 0)::bigint FROM outbox.outbox_batch WHERE relay_group = 'default'
