SELECT active FROM entity WHERE id = $1 FOR UPDATE
