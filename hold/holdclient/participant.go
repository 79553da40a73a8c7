package holdclient

import (
	"context"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/wire"
	"github.com/holdfast-dev/holdfast/outbox"
)

// Participant is a client in the shape in which a coordinator drives a participant: the same
// methods as those of package hold have, with one reason for all. The zero value is of no use.
type Participant struct {
	Client *Client
	Expiry Expiry // of what is registered; never if it is zero
	Reason string // of decisions, for the audit; may be empty
}

// Register calls [Client.Register].
func (p Participant) Register(ctx context.Context, h outbox.Hold) (hold.Answer, error) {
	answer, err := p.Client.Register(ctx, h, p.Expiry)
	return answerOf(answer), err
}

// Release calls [Client.Release].
func (p Participant) Release(ctx context.Context, h outbox.Hold) (hold.Answer, error) {
	answer, err := p.Client.Release(ctx, h, p.Reason)
	return answerOf(answer), err
}

// Cancel calls [Client.Cancel]. Without an error everything is undone, or left to a person.
func (p Participant) Cancel(ctx context.Context, h outbox.Hold) (hold.Answer, error) {
	answer, err := p.Client.Cancel(ctx, h, p.Reason)
	return answerOf(answer.Answer), err
}

func answerOf(a wire.Answer) hold.Answer {
	return hold.Answer{State: hold.GenerationState(a.State), MaxGeneration: a.MaxGeneration,
		Held: a.Held, Released: a.Released, Dropped: a.Dropped, Changed: a.Changed}
}
