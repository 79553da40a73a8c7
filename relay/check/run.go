package check

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/holdfast-dev/holdfast/outbox/wire"
)

// facts are what the checks judge.
type facts struct {
	t      Target
	filter string // what the subject template can give
	db     *database
	br     *broker
}

// Run makes all checks. It returns an error only for settings of which no relay could be made;
// everything else is a finding. ctx bounds it; give it some seconds, for servers that
// do not answer. Safe for concurrent use.
func Run(ctx context.Context, t Target) (Report, error) {
	f, err := gather(ctx, t, false)
	if err != nil {
		return Report{}, err
	}
	return judge(f, func(c check) bool { return !f.t.Before || !c.after }), nil
}

// Start makes the checks that a relay must not start against. decided is false while one of them
// could not be made because a server, the schema or the stream is not there yet: then
// nothing speaks against waiting, and Start should be asked again.
func Start(ctx context.Context, t Target) (r Report, decided bool, err error) {
	f, err := gather(ctx, t, true)
	if err != nil {
		return Report{}, false, err
	}
	r = judge(f, func(c check) bool { return c.start })
	decided = !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.blocked })
	return r, decided || !r.Healthy(), nil
}

func gather(ctx context.Context, t Target, start bool) (*facts, error) {
	f := &facts{t: t.withDefaults()}
	cfg := f.t.Relay
	encoder, err := wire.NewEncoder(wire.Config{Prefix: cfg.SubjectPrefix, Subject: cfg.SubjectTemplate, Stream: cfg.Stream, Mode: cfg.Mode})
	if err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	f.filter = encoder.Subjects()
	var both sync.WaitGroup
	both.Go(func() { f.db = gatherDatabase(ctx, f.t, start) })
	both.Go(func() { f.br = gatherBroker(ctx, f.t, f.filter) })
	both.Wait()
	return f, nil
}

// judge makes the chosen checks and those that they need; it reports the chosen ones.
func judge(f *facts, chosen func(check) bool) Report {
	var r Report
	j := judgement{f: f, made: map[string]Finding{}}
	for _, c := range checks {
		if !chosen(c) {
			continue
		}
		finding := j.of(c)
		if slices.Contains(f.t.Allow, c.name) {
			finding = finding.allowed()
		}
		r.Findings = append(r.Findings, finding)
	}
	return r
}

// judgement remembers what was judged.
type judgement struct {
	f    *facts
	made map[string]Finding
}

func (j *judgement) of(c check) Finding {
	if finding, done := j.made[c.name]; done {
		return finding
	}
	finding := j.blocked(c)
	if finding.Severity == "" {
		finding = c.judge(j.f)
	}
	finding.Check = c.name
	j.made[c.name] = finding
	return finding
}

// blocked returns what keeps a check from being made; the zero Finding when nothing does.
func (j *judgement) blocked(c check) Finding {
	for _, need := range c.needs {
		i := slices.IndexFunc(checks, func(other check) bool { return other.name == need })
		if needed := j.of(checks[i]); needed.Severity == Fail || needed.blocked {
			finding := skip("needs %s", need)
			finding.blocked = true
			return finding
		}
	}
	return Finding{}
}
