DELETE FROM draft WHERE id = $1
