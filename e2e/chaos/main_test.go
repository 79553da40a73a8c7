package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/holdfast-dev/holdfast/e2e/fault"
	"github.com/holdfast-dev/holdfast/e2e/history"
)

func TestMain(m *testing.M) {
	if fault.IsNode() {
		os.Exit(fault.RunNode())
	}
	if isConsumer() {
		os.Exit(runConsumer(os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

// TestChaos is a short trial, to see that everything that a long one needs is there.
func TestChaos(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	status := run(t.Context(), []string{"-duration", "3s", "-setup", "single", "-seed", "1"}, &stdout, &stderr)
	if status != exitOK {
		t.Errorf("status %d\n%s", status, &stderr)
	}
	line, ok := strings.CutPrefix(strings.TrimSpace(stdout.String()), "CHAOS ")
	if !ok || strings.Contains(line, "\n") {
		t.Fatalf("stdout: %s\n%s", &stdout, &stderr)
	}
	var r result
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		t.Fatal(err)
	}
	if !r.OK || r.Seed != 1 || r.Events == 0 || len(r.Faults) == 0 || len(r.Setups) != 1 || r.Setups[0].Effects == 0 {
		t.Errorf("result %+v", r)
	}
	for _, invariant := range history.Invariants() {
		if n, ok := r.Violations[invariant.Name]; !ok || n != 0 {
			t.Errorf("%s: %d violations, judged %t", invariant.Name, n, ok)
		}
	}
}

func TestPlanFlagPrintsTheSchedule(t *testing.T) {
	t.Parallel()
	var one, two, stderr bytes.Buffer
	for _, out := range []*bytes.Buffer{&one, &two} {
		if status := run(t.Context(), []string{"-plan", "-seed", "5"}, out, &stderr); status != exitOK {
			t.Fatalf("status %d: %s", status, &stderr)
		}
	}
	if one.String() != two.String() || strings.Count(one.String(), "\n") < 100 {
		t.Errorf("plans:\n%s\n%s", &one, &two)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-setup", "none"}, {"-duration", "1ms"}, {"-only", "rain"}, {"-what"}, {"word"}} {
		var stdout, stderr bytes.Buffer
		if status := run(t.Context(), args, &stdout, &stderr); status != exitUsage || stderr.Len() == 0 || stdout.Len() > 0 {
			t.Errorf("%q: status %d, stdout %q, stderr %q", args, status, &stdout, &stderr)
		}
	}
}

func TestCounterReadsTheMetric(t *testing.T) {
	t.Parallel()
	name := "relay-1.1"
	s := &slot{}
	s.name.Store(&name)
	for text, want := range map[string]int64{
		"": 0,
		"# HELP holdfast_relay_events_published_total x\nholdfast_relay_events_published_total{group=\"default\"} 1.5e+03\n": 1500,
		"holdfast_relay_events_published_event_total{group=\"default\",otel_scope_name=\"x\"} 7\nother 3\n":                  7,
	} {
		if got, err := s.counter(text); err != nil || got.Published != want || got.Relay != name {
			t.Errorf("%q: %+v, %v; want %d", text, got, err, want)
		}
	}
}
