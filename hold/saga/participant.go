package saga

import (
	"context"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/outbox"
)

// Participant is a service that holds events for operations. Its methods are requests with an
// answer, end when ctx does, can be repeated after an unknown outcome, and are safe for concurrent
// use. Errors are judged by [Judge].
type Participant interface {
	// Register opens the generation. The answer says in which state it is, also when that is not
	// active, which is no error.
	Register(ctx context.Context, h outbox.Hold) (hold.Answer, error)
	// Release lets the events of the generation go.
	Release(ctx context.Context, h outbox.Hold) (hold.Answer, error)
	// Cancel drops the events and undoes the entities. It returns nil when all of it is done;
	// entities that were left to a person are done.
	Cancel(ctx context.Context, h outbox.Hold) (hold.Answer, error)
}
