package outbox

import "fmt"

// WakeSubject is the usual subject of wake-ups over core NATS. Databases that share a NATS
// account do better with one each, such as "holdfast.wake.orders".
const WakeSubject = "holdfast.wake"

// WakeChannel is the usual channel of wake-ups by NOTIFY, see Config.NotifyChannel.
const WakeChannel = "holdfast_wake"

// Notifier is what [Wake] needs of a connection to NATS; *nats.Conn has it.
type Notifier interface {
	Publish(subject string, data []byte) error
}

// Wake tells the relays that listen on a subject (RELAY_WAKE_SUBJECT) that there is something
// to drain, so that they need not find it by polling. Call it after the commit, and after a
// release. It sends one empty message over core NATS and does not wait for an answer.
//
// Nothing depends on it: a wake-up that is lost, or sent for nothing, costs a poll interval or
// a look. So an error, which is the connection's, may be ignored. It is safe for
// concurrent use.
func Wake(to Notifier, subject string) error {
	if err := to.Publish(subject, nil); err != nil {
		return fmt.Errorf("wake relays on %s: %w", subject, err)
	}
	return nil
}
