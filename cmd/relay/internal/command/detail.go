package command

import (
	"context"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/cmd/relay/internal/probe"
	"github.com/holdfast-dev/holdfast/relay/check"
)

const (
	detailAge     = 15 * time.Second // of findings that are shown without looking again
	detailTimeout = 10 * time.Second
)

// detail looks for what is wrong while the relay is not ready, with the engine of relay check. A
// probe never waits for it: it shows what the last look found. Safe for concurrent use.
type detail struct {
	ctx    context.Context // of the looks
	cut    context.CancelFunc
	target check.Target

	looks sync.WaitGroup // added to under mu while ctx goes on

	mu       sync.Mutex
	looking  bool
	looked   time.Time
	findings []probe.Finding
}

func newDetail(ctx context.Context, target check.Target) *detail {
	d := &detail{target: target}
	d.ctx, d.cut = context.WithCancel(ctx)
	d.target.Relay.Owner = "" // this pod has it, as it should
	return d
}

// stop ends looking and waits for it.
func (d *detail) stop() {
	d.mu.Lock()
	d.cut() // no look begins from here on
	d.mu.Unlock()
	d.looks.Wait()
}

// found returns what the last look found, and looks again when that is old.
func (d *detail) found() []probe.Finding {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.looking && time.Since(d.looked) > detailAge && d.ctx.Err() == nil {
		d.looking = true
		d.looks.Go(d.look)
	}
	return d.findings
}

func (d *detail) look() {
	ctx, cancel := context.WithTimeout(d.ctx, detailTimeout)
	defer cancel()
	r, err := check.Run(ctx, d.target)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.looking, d.looked, d.findings = false, time.Now(), nil
	if err != nil || d.ctx.Err() != nil {
		return
	}
	for _, f := range r.Of(check.Fail, check.Warn) {
		d.findings = append(d.findings, probe.Finding{Check: f.Check, Severity: string(f.Severity), Text: f.Text, Hint: f.Hint})
	}
}
