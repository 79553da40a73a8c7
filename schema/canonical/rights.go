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
	claimers  = []Role{Claimer}
	drivers   = []Role{Coordinator}
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
	{Right{Hold, "FUNCTION", "hold_list", []string{"EXECUTE"}, nil}, readers},
	{Right{Hold, "FUNCTION", "hold_events", []string{"EXECUTE"}, nil}, readers},
	{Right{Hold, "FUNCTION", "hold_measure", []string{"EXECUTE"}, nil}, readers},
	{Right{Hold, "FUNCTION", "compensation_quarantined", []string{"EXECUTE"}, nil}, readers},
	{Right{Hold, "FUNCTION", "hold_drop_event", []string{"EXECUTE"}, nil}, deciders},
	{Right{Hold, "FUNCTION", "hold_overdue", []string{"EXECUTE"}, nil}, deciders},
	{Right{Hold, "FUNCTION", "hold_put_off", []string{"EXECUTE"}, nil}, deciders},
	{Right{Hold, "FUNCTION", "compensation_due", []string{"EXECUTE"}, nil}, deciders},
	{Right{Hold, "FUNCTION", "compensation_receipts", []string{"EXECUTE"}, nil}, deciders},
	{Right{Hold, "FUNCTION", "compensation_begin", []string{"EXECUTE"}, nil}, deciders},
	{Right{Hold, "FUNCTION", "compensation_end", []string{"EXECUTE"}, nil}, deciders},
	{Right{Hold, "FUNCTION", "compensation_finish", []string{"EXECUTE"}, nil}, deciders},
	{Right{Hold, "FUNCTION", "hold_prune", []string{"EXECUTE"}, nil}, deciders},
	{Right{Hold, "TABLE", "hold_operation", []string{"SELECT"}, nil}, readers},
	{Right{Hold, "TABLE", "hold_generation", []string{"SELECT"}, nil}, readers},
	{Right{Hold, "TABLE", "hold_receipt", []string{"SELECT"}, nil}, readers},
	{Right{Hold, "TABLE", "hold_audit", []string{"SELECT"}, nil}, readers},
	{Right{Hold, "TABLE", "hold_quarantine", []string{"SELECT"}, nil}, readers},
	{Right{Hold, "TABLE", "hold_inquiry", []string{"SELECT"}, []string{
		"operation_id", "generation", "next_at", "attempts", "asked_at",
	}}, readers},

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

	// The consumer's database need not have the component outbox, so what all may do is here too.
	{Right{Consumer, "SCHEMA", "", []string{"USAGE"}, nil}, everybody},
	{Right{Consumer, "TABLE", "holdfast_schema", []string{"SELECT"}, nil}, everybody},
	// A fact is for ever: whoever claims one can neither change nor remove it. What it prunes are
	// deliveries and dead letters, whose history stays.
	{Right{Consumer, "TABLE", "consumer_fact", []string{"SELECT", "INSERT"}, nil}, claimers},
	{Right{Consumer, "TABLE", "consumer_inbox", []string{"SELECT", "INSERT", "UPDATE", "DELETE"}, nil}, claimers},
	{Right{Consumer, "TABLE", "consumer_quarantine", []string{"SELECT", "INSERT"}, nil}, claimers},
	{Right{Consumer, "TABLE", "consumer_quarantine", []string{"UPDATE"}, []string{"seen_at"}}, claimers},
	{Right{Consumer, "TABLE", "consumer_dead_letter", []string{"SELECT", "INSERT", "UPDATE", "DELETE"}, nil}, claimers},
	{Right{Consumer, "TABLE", "consumer_dead_letter_history", []string{"SELECT", "INSERT"}, nil}, claimers},
	{Right{Consumer, "TABLE", "consumer_control", []string{"SELECT"}, nil}, claimers},
	{Right{Consumer, "TABLE", "consumer_control", []string{"SELECT", "INSERT", "UPDATE"}, nil}, deciders},
	{Right{Consumer, "TABLE", "consumer_quarantine", []string{"UPDATE"}, []string{"state", "resolved_at", "resolved_by", "resolution"}}, deciders},
	// Who decides about a dead letter moves its state; the claim of a replay is the consumer's.
	{Right{Consumer, "TABLE", "consumer_dead_letter", []string{"UPDATE"}, []string{"state", "changed_at"}}, deciders},
	{Right{Consumer, "TABLE", "consumer_dead_letter_history", []string{"INSERT"}, nil}, deciders},
	// Attributes of a fact and snapshots of rows are what an event said, so people see neither.
	{Right{Consumer, "TABLE", "consumer_fact", []string{"SELECT"}, []string{
		"id", "created_at", "source", "account_id", "fact_type", "fact_key", "event_source", "event_id",
	}}, readers},
	{Right{Consumer, "TABLE", "consumer_repair", []string{"SELECT"}, []string{
		"id", "created_at", "relation", "canonical_id", "duplicate_id", "prior_status", "reason",
	}}, readers},
	{Right{Consumer, "TABLE", "consumer_inbox", []string{"SELECT"}, nil}, readers},
	{Right{Consumer, "TABLE", "consumer_quarantine", []string{"SELECT"}, nil}, readers},
	{Right{Consumer, "TABLE", "consumer_dead_letter", []string{"SELECT"}, nil}, readers},
	{Right{Consumer, "TABLE", "consumer_dead_letter_history", []string{"SELECT"}, nil}, readers},
	{Right{Consumer, "TABLE", "consumer_control", []string{"SELECT"}, nil}, []Role{Auditor}},

	// Nor need the coordinator's.
	{Right{Saga, "SCHEMA", "", []string{"USAGE"}, nil}, everybody},
	{Right{Saga, "TABLE", "holdfast_schema", []string{"SELECT"}, nil}, everybody},
	{Right{Saga, "TABLE", "saga_operation", []string{"SELECT", "INSERT", "UPDATE", "DELETE"}, nil}, drivers},
	{Right{Saga, "TABLE", "saga_step", []string{"SELECT", "INSERT", "DELETE"}, nil}, drivers},
	{Right{Saga, "TABLE", "saga_audit", []string{"INSERT"}, nil}, drivers},
	{Right{Saga, "TABLE", "saga_reconciler", []string{"SELECT", "UPDATE"}, nil}, drivers},
	{Right{Saga, "FUNCTION", "saga_retry", []string{"EXECUTE"}, nil}, deciders},
	{Right{Saga, "FUNCTION", "saga_abort", []string{"EXECUTE"}, nil}, deciders},
	// The basis and the result are what a request said, and who knows the holder of a lease can
	// pass for it: people see none of them.
	{Right{Saga, "TABLE", "saga_operation", []string{"SELECT"}, []string{
		"operation_id", "created_at", "updated_at", "lease_expires_at", "next_attempt_at", "generation", "attempts",
		"events_released", "kind", "state", "digest_key_id", "participants",
	}}, readers},
	{Right{Saga, "TABLE", "saga_step", []string{"SELECT"}, nil}, readers},
	{Right{Saga, "TABLE", "saga_audit", []string{"SELECT"}, nil}, readers},
	{Right{Saga, "TABLE", "saga_reconciler", []string{"SELECT"}, []string{"lease_until", "ticked_at"}}, readers},
}
