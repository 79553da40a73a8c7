package canonical

// granted is a right and who has it.
type granted struct {
	Right
	roles []Role
}

var (
	everybody = Roles()
	people    = []Role{Operator, Maintainer, Auditor}
	deciders  = []Role{Operator}
	readers   = []Role{Operator, Auditor}
	producers = []Role{Producer}
	drainers  = []Role{Drainer}
	keepers   = []Role{Drainer, Maintainer}
)

// rights is the one table of who may do what. What is not in it nobody may do but the owner:
// internal functions, and every change of the log that is not made by a function.
var rights = []granted{
	{Right{Outbox, "SCHEMA", "", []string{"USAGE"}, nil}, everybody},
	{Right{Outbox, "TABLE", "holdfast_schema", []string{"SELECT"}, nil}, everybody},

	// A producer may also insert, for programs that cannot call a function; the position
	// and the hold of an event are not among the columns, so no one can forge them.
	{Right{Outbox, "TABLE", "event_outbox", []string{"INSERT"}, []string{
		"event_id", "source", "type", "subject", "time", "datacontenttype", "dataschema", "partition_key", "extensions", "data",
	}}, producers},
	{Right{Outbox, "SEQUENCE", "event_outbox_seq", []string{"USAGE"}, nil}, producers},
	{Right{Outbox, "FUNCTION", "uuid_v7", []string{"EXECUTE"}, nil}, producers},
	{Right{Outbox, "FUNCTION", "publish", []string{"EXECUTE"}, nil}, producers},
	{Right{Outbox, "FUNCTION", "publish_text", []string{"EXECUTE"}, nil}, producers},
	{Right{Outbox, "FUNCTION", "publish_base64", []string{"EXECUTE"}, nil}, producers},
	{Right{Outbox, "FUNCTION", "publish_events", []string{"EXECUTE"}, nil}, producers},

	{Right{Outbox, "TABLE", "event_outbox", []string{"SELECT"}, nil}, drainers},
	{Right{Outbox, "TABLE", "event_outbox_info", []string{"SELECT"}, nil}, people},
	// What `relay status` counts.
	{Right{Outbox, "TABLE", "event_outbox", []string{"SELECT"}, []string{"seq", "tx", "staged_at", "slot", "lane"}}, deciders},

	{Right{Hold, "FUNCTION", "publish_held", []string{"EXECUTE"}, nil}, producers},
	{Right{Hold, "FUNCTION", "publish_held_text", []string{"EXECUTE"}, nil}, producers},
	{Right{Hold, "FUNCTION", "publish_held_base64", []string{"EXECUTE"}, nil}, producers},
	{Right{Hold, "FUNCTION", "publish_events_held", []string{"EXECUTE"}, nil}, producers},
	{Right{Hold, "FUNCTION", "receipt_begin", []string{"EXECUTE"}, nil}, producers},
	{Right{Hold, "FUNCTION", "receipt_complete", []string{"EXECUTE"}, nil}, producers},
	{Right{Hold, "FUNCTION", "hold_state", []string{"EXECUTE"}, nil}, []Role{Producer, Operator, Auditor}},
	{Right{Hold, "FUNCTION", "hold_register", []string{"EXECUTE"}, nil}, deciders},
	{Right{Hold, "FUNCTION", "hold_release", []string{"EXECUTE"}, nil}, deciders},
	{Right{Hold, "FUNCTION", "hold_cancel", []string{"EXECUTE"}, nil}, deciders},
	{Right{Hold, "TABLE", "hold_operation", []string{"SELECT"}, nil}, readers},
	{Right{Hold, "TABLE", "hold_generation", []string{"SELECT"}, nil}, readers},
	{Right{Hold, "TABLE", "hold_receipt", []string{"SELECT"}, nil}, readers},
	{Right{Hold, "TABLE", "hold_audit", []string{"SELECT"}, nil}, readers},

	{Right{Relay, "TABLE", "outbox_lane", []string{"SELECT", "INSERT", "UPDATE"}, nil}, drainers},
	{Right{Relay, "TABLE", "outbox_relay", []string{"SELECT", "INSERT", "UPDATE", "DELETE"}, nil}, drainers},
	{Right{Relay, "TABLE", "outbox_batch", []string{"SELECT", "INSERT", "DELETE"}, nil}, drainers},
	{Right{Relay, "TABLE", "outbox_retry", []string{"SELECT", "INSERT", "UPDATE", "DELETE"}, nil}, drainers},
	{Right{Relay, "TABLE", "outbox_requeued", []string{"SELECT", "INSERT", "DELETE"}, nil}, drainers},
	{Right{Relay, "TABLE", "outbox_dead_letter", []string{"SELECT", "INSERT", "DELETE"}, nil}, drainers},
	{Right{Relay, "TABLE", "outbox_dead_letter_history", []string{"SELECT", "INSERT"}, nil}, drainers},
	{Right{Relay, "TABLE", "outbox_lane", []string{"SELECT"}, nil}, []Role{Operator, Maintainer}},
	{Right{Relay, "TABLE", "outbox_relay", []string{"SELECT"}, nil}, []Role{Operator, Maintainer}},
	{Right{Relay, "TABLE", "outbox_retry", []string{"SELECT"}, nil}, []Role{Operator, Maintainer}},
	{Right{Relay, "TABLE", "outbox_batch", []string{"SELECT"}, nil}, people},
	{Right{Relay, "TABLE", "outbox_dead_letter_info", []string{"SELECT"}, nil}, readers},
	{Right{Relay, "TABLE", "outbox_dead_letter_history", []string{"SELECT"}, nil}, readers},
	// Emptying a slot is a right that only a function has. Whoever looks after retention holds
	// its lease; nobody else may know the token.
	{Right{Relay, "TABLE", "outbox_maintenance", []string{"SELECT", "UPDATE"}, nil}, keepers},
	{Right{Relay, "TABLE", "outbox_maintenance", []string{"SELECT"}, []string{
		"lease_owner", "lease_until", "rotated_at", "rotated_slot", "refused_at", "refused_slot", "refused_why",
	}}, readers},
	{Right{Relay, "FUNCTION", "retention_look", []string{"EXECUTE"}, nil}, []Role{Drainer, Operator, Maintainer, Auditor}},
	{Right{Relay, "FUNCTION", "retention_rotate", []string{"EXECUTE"}, nil}, keepers},
	{Right{Relay, "FUNCTION", "retention_prune", []string{"EXECUTE"}, nil}, keepers},
	{Right{Relay, "FUNCTION", "dead_letter_requeue", []string{"EXECUTE"}, nil}, []Role{Drainer, Operator}},
	{Right{Relay, "FUNCTION", "dead_letter_discard", []string{"EXECUTE"}, nil}, []Role{Drainer, Operator}},
}
