package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/holdclient"
	"github.com/holdfast-dev/holdfast/hold/wire"
	"github.com/holdfast-dev/holdfast/outbox"
)

// holdSurface are the holds behind the control surface of a service.
type holdSurface struct {
	client *holdclient.Client
	url    string
}

func openSurface(ctx context.Context, url, file string) (*holdSurface, error) {
	token := holdclient.TokenFile(file)
	client, err := holdclient.New(holdclient.Config{URL: url, Token: token})
	if err != nil {
		return nil, exit.Errorf(exit.Usage, "--url: %w", err)
	}
	if _, err := token(ctx); err != nil {
		return nil, exit.Errorf(exit.Usage, "--token-file: %w", err)
	}
	return &holdSurface{client, url}, nil
}

func (s *holdSurface) where() string { return s.url }
func (s *holdSurface) close()        { s.client.Close() }

func (s *holdSurface) generations(ctx context.Context, operation uuid.UUID) ([]holdGeneration, error) {
	var all []holdGeneration
	for after := 0; len(all) < most; {
		page, err := s.client.Get(ctx, operation, after)
		if errors.Is(err, outbox.ErrGenerationUnknown) || isUnknownOperation(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for _, g := range page.Generations {
			all = append(all, seen(operation, g))
		}
		if after = page.NextAfter; after == 0 {
			break
		}
	}
	return all, nil
}

func isUnknownOperation(err error) bool {
	var p *holdclient.ProblemError
	return errors.As(err, &p) && p.Type == wire.OperationUnknown
}

// seen is a generation as the surface shows it, which names nobody.
func seen(operation uuid.UUID, g wire.Generation) holdGeneration {
	h := holdGeneration{
		Operation: operation.String(), Generation: g.Generation, State: g.State, MaxGeneration: g.MaxGeneration,
		Held: g.Held, Released: g.Released, Dropped: g.Dropped, Receipts: g.Receipts, Quarantined: g.Quarantined,
		RegisteredAt: output.Time(g.RegisteredAt), OnExpiry: g.OnExpiry, Age: g.Age, Overdue: g.Overdue,
		Superseded: isSuperseded(g.State, g.Generation, g.MaxGeneration),
	}
	if g.DecidedAt != nil {
		h.DecidedAt = output.Time(*g.DecidedAt)
	}
	if g.CompensatedAt != nil {
		h.CompensatedAt = output.Time(*g.CompensatedAt)
	}
	if g.ExpiresAt != nil {
		h.ExpiresAt = output.Time(*g.ExpiresAt)
	}
	return h
}

func (s *holdSurface) register(ctx context.Context, h outbox.Hold, o *holdOrder) (hold.Answer, error) {
	var expiry holdclient.Expiry
	if !o.expiresAt.IsZero() {
		expiry = holdclient.Expiry{At: o.expiresAt, Then: o.onExpiry}
	}
	answer, err := s.client.Register(ctx, h, expiry)
	return answered(answer), err
}

func (s *holdSurface) release(ctx context.Context, h outbox.Hold, o *holdOrder) (hold.Answer, error) {
	answer, err := s.client.Release(ctx, h, o.reason)
	return answered(answer), err
}

func (s *holdSurface) cancel(ctx context.Context, h outbox.Hold, o *holdOrder) (hold.Answer, error) {
	answer, err := s.client.Cancel(ctx, h, o.reason)
	return answered(answer.Answer), err
}

func answered(a wire.Answer) hold.Answer {
	return hold.Answer{State: hold.GenerationState(a.State), MaxGeneration: a.MaxGeneration,
		Held: a.Held, Released: a.Released, Dropped: a.Dropped, Changed: a.Changed}
}

// classifyHold returns nil for an error that is none of a hold.
func classifyHold(err error) *exit.Error {
	var invalid *outbox.InvalidArgumentError
	var problem *holdclient.ProblemError
	e := &exit.Error{Err: err, Hint: outbox.Hint(err)}
	switch {
	case errors.Is(err, outbox.ErrGenerationUnknown), errors.Is(err, holdclient.ErrNotFound):
		e.Code = exit.NotFound
	case errors.Is(err, outbox.ErrGenerationCancelled), errors.Is(err, outbox.ErrGenerationReleased), errors.Is(err, outbox.ErrGenerationSuperseded):
		e.Code, e.Kind = exit.No, "refused"
	case errors.Is(err, holdclient.ErrUnauthenticated), errors.Is(err, holdclient.ErrForbidden):
		e.Code = exit.Denied
	case errors.Is(err, holdclient.ErrUnknownOutcome), errors.Is(err, holdclient.ErrRateLimited):
		e.Code = exit.Unavailable
		if e.Hint == "" {
			e.Hint = "run it again: every call is safe to repeat"
		}
	case errors.Is(err, holdclient.ErrAddress):
		e.Code, e.Hint = exit.Usage, "check --url: nobody serves a control surface there"
	case errors.As(err, &invalid), errors.Is(err, holdclient.ErrInvalid):
		e.Code = exit.Usage
	case errors.As(err, &problem):
		e.Code = exit.Unavailable
	default:
		return nil
	}
	return e
}

// holdName names a generation for people.
func holdName(h outbox.Hold) string {
	return fmt.Sprintf("operation %s generation %d", h.Operation, h.Generation)
}
