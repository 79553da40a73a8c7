-- Race: whoever undoes one of them waits until what is added here is committed, and then sees it;
-- or it was first, and the owner is not active any more.
SELECT id, kind FROM entity
 WHERE id = ANY ($1) AND active
 ORDER BY id
   FOR SHARE
