// Package audit reads what people and services decided, from whatever components a database has:
// each component keeps its own record, and here they are one list.
//
//	component  record                         decisions
//	relay      outbox_dead_letter_history     dead-letter.requeue, discard
//	hold       hold_audit                     hold.register, release, cancel and what keepers do
//	saga       saga_audit                     operation.retry, abort and what reconcilers do
//	consumer   consumer_dead_letter_history   consumer-dead-letter.replay, discard
//	           consumer_control               consumer.pause, resume: the last one of each group
//	           consumer_quarantine            consumer-quarantine.resolve
//	           consumer_repair                consumer.repair
//
// That an event became a dead letter is no decision and not in the list. What goes to the stream
// alone, as relay replay and relay reconcile --repair do, leaves no record in a database.
//
// It reads one snapshot, changes nothing, and needs no more than the role auditor may do.
package audit
