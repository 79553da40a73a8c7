-- The answer of the first time, from what was written then. As jsonb it is the same bytes as the
-- result of the operation.
SELECT jsonb_build_object('application', id, 'household', household_id, 'filed_on', filed_on, 'received_at', received_at)::text
  FROM application
 WHERE id = $1
