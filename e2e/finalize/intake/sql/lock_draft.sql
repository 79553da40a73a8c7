-- The condition of expiry is that of everybody who reads drafts.
SELECT FROM draft WHERE id = $1 AND expires_at > clock_timestamp() FOR UPDATE
