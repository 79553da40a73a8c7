-- In a statement after the locks: it sees a claim that was committed before them.
DELETE FROM draft d
 WHERE d.id = ANY ($1) AND d.expires_at <= clock_timestamp() AND NOT ({{.NotReapable}})
