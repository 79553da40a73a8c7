package audit

import "time"

// Decision is what somebody decided: a line of the list.
type Decision struct {
	At      time.Time
	What    string // one of [Whats]
	Subject string // what it is about, as the command of that noun takes it
	Actor   string
	Reason  string // "" when none was kept
}

// Whats returns all kinds of decisions: a noun and a verb.
func Whats() []string {
	return []string{
		"consumer-dead-letter.discard", "consumer-dead-letter.replay", "consumer-quarantine.resolve",
		"consumer.pause", "consumer.repair", "consumer.resume",
		"dead-letter.discard", "dead-letter.requeue",
		"hold.cancel", "hold.compensate", "hold.drop", "hold.drop-event", "hold.expire", "hold.prune", "hold.quarantine",
		"hold.register", "hold.release",
		"operation.abort", "operation.compensate", "operation.give-up", "operation.retry", "operation.undo",
	}
}
