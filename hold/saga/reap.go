package saga

// NotReapable returns an SQL predicate: true of a subject that must stay, because an operation
// that has not ended needs it. id is the SQL of the id that was reserved for the subject's
// operation, such as d.result_id; it is not quoted.
//
// A reaper locks first and judges then, in two statements of a READ COMMITTED transaction:
//
//	SELECT id FROM draft WHERE expires_at <= clock_timestamp() FOR UPDATE SKIP LOCKED LIMIT 100
//	DELETE FROM draft d WHERE d.id = ANY ($1) AND d.expires_at <= clock_timestamp() AND NOT (predicate)
//
// In one statement it would judge by a snapshot that may be older than its lock, and so take the
// subject of an operation that was claimed in between. Whoever reads subjects uses the same
// condition of expiry.
func (s *Store) NotReapable(id string) string {
	return "EXISTS (SELECT FROM " + s.schema + ".saga_operation holdfast_o WHERE holdfast_o.operation_id = " + id +
		" AND holdfast_o.state IN ('in_progress', 'compensating', 'stuck'))"
}
