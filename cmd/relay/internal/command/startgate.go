package command

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/relay/check"
)

// startGate keeps a relay from a stream that would lose its events. When all that must be looked at
// is there, it decides before the relay starts. Otherwise the relay starts and waits, as
// it does for servers that are not there yet, and the gate goes on looking; nothing is published
// meanwhile, and it ends the relay when what appears is not fit. Once it has let the relay pass it looks no more.
type startGate struct {
	d      *daemon
	target check.Target
	nc     *nats.Conn
	passed atomic.Bool // it decided that the relay may publish
}

// admit keeps the relay from publishing until the gate has decided.
func (g *startGate) admit(context.Context) error {
	if !g.passed.Load() {
		return errNotDecided
	}
	return nil
}

var errNotDecided = errors.New("the stream was not checked yet: relay check says what is missing")

const (
	// How long one look may take: the first keeps the relay from starting.
	gateFirstTimeout, gateTimeout = 3 * time.Second, 10 * time.Second
	// The pause between two looks begins short, since nothing is published before one decides,
	// and grows while nothing appears.
	gateFirst, gateLongest = 100 * time.Millisecond, time.Second
)

// decide looks once. It returns false while something is not there yet, and an error when the relay
// must not run.
func (g *startGate) decide(ctx context.Context, timeout time.Duration) (bool, error) {
	if !g.nc.IsConnected() {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r, decided, err := check.Start(ctx, g.target)
	if err != nil || !decided {
		return false, err
	}
	if failed := r.Of(check.Fail); len(failed) > 0 {
		return true, refuseStart(failed)
	}
	for _, f := range r.Of(check.Warn) {
		g.d.log.Warn("a check of the start is overridden", "check", f.Check, "finding", f.Text, "hint", f.Hint)
	}
	g.passed.Store(true)
	return true, nil
}

// watch looks until it can decide or ctx ends. It returns the refusal, or nil.
func (g *startGate) watch(ctx context.Context) error {
	for pause := gateFirst; ; pause = min(2*pause, gateLongest) {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		decided, err := g.decide(ctx, gateTimeout)
		switch {
		case ctx.Err() != nil:
			return nil
		case decided || err != nil:
			return err
		}
	}
}

// refuseStart says why a relay does not run, and how to run it all the same.
func refuseStart(failed []check.Finding) error {
	e := &exit.Error{Code: exit.Usage, Kind: "refused",
		Hint: fmt.Sprintf("or start in spite of it: --allow %s, or RELAY_ALLOW", commaSeparated(failed))}
	if len(failed) == 1 {
		e.Err = fmt.Errorf("the start is refused: %s: %s", failed[0].Check, failed[0].Text)
		e.Hint = failed[0].Hint + "; " + e.Hint
		return e
	}
	e.Err = errors.New("the start is refused: " + namesOf(failed))
	for _, f := range failed {
		e.Problems = append(e.Problems, exit.Problem{Message: f.Check + ": " + f.Text, Hint: f.Hint})
	}
	return e
}

func commaSeparated(findings []check.Finding) string {
	text := ""
	for i, f := range findings {
		if i > 0 {
			text += ","
		}
		text += f.Check
	}
	return text
}
