package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// verdict is what one set-up came to. The numbers count events unless they say otherwise.
type verdict struct {
	Setup        setup `json:"setup"`
	OK           bool  `json:"ok"`
	Events       int   `json:"events"` // committed
	Stream       int   `json:"stream"` // messages
	Duplicates   int   `json:"duplicates"`
	RolledBack   int   `json:"rolled_back"`
	Unknown      int   `json:"unknown"`   // whose commit had no answer
	Decisions    int   `json:"decisions"` // generations that were released or dropped
	Publications int   `json:"publications"`
	Refused      int   `json:"refused"` // and those that waited behind them
	DeadLetters  int   `json:"dead_letters"`
	RelayStarts  int   `json:"relay_starts"`
	// Facts of the consumers, and how often these were started.
	Effects        int `json:"effects"`
	ConsumerStarts int `json:"consumer_starts"`
	// What rollbacks of the server's store removed, and what was missing by it and put back.
	RolledBackMessages int            `json:"rolled_back_messages"`
	Repaired           int            `json:"repaired"`
	DrainSeconds       float64        `json:"drain_seconds"` // from the end of the faults until all was settled
	Seconds            float64        `json:"seconds"`
	Faults             map[Kind]int   `json:"faults"`
	Violations         map[string]int `json:"violations"`

	findings []string
	dir      string
}

func (v *verdict) violate(name, format string, args ...any) {
	v.Violations[name]++
	v.findings = append(v.findings, name+": "+fmt.Sprintf(format, args...))
}

// result is what the last line says: the sums, and each set-up.
type result struct {
	OK         bool           `json:"ok"`
	Error      string         `json:"error,omitempty"` // why a set-up has no verdict; standard error says more
	Seed       uint64         `json:"seed"`
	Duration   float64        `json:"duration"` // of load and faults, in seconds
	Events     int            `json:"events"`
	Faults     map[Kind]int   `json:"faults"`
	Violations map[string]int `json:"violations"`
	Setups     []*verdict     `json:"setups"`
}

func newResult(s settings) *result {
	return &result{OK: true, Seed: s.seed, Duration: s.duration.Seconds(), Faults: map[Kind]int{}, Violations: map[string]int{}}
}

func (r *result) add(_ *trial, v *verdict) {
	r.OK = r.OK && v.OK
	r.Events += v.Events
	for kind, n := range v.Faults {
		r.Faults[kind] += n
	}
	for name, n := range v.Violations {
		r.Violations[name] += n
	}
	r.Setups = append(r.Setups, v)
}

func (r *result) print(w io.Writer) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "CHAOS %s\n", line)
	return err
}

// report says what a set-up came to, in words.
func (t *trial) report(v *verdict) {
	total := 0
	for _, n := range v.Faults {
		total += n
	}
	t.say("%d events committed, %d rolled back, %d of unknown outcome; %d messages, %d of them second copies; %d refused or behind such, %d given up", v.Events, v.RolledBack, v.Unknown, v.Stream, v.Duplicates, v.Refused, v.DeadLetters)
	t.say("%d faults of %d kinds, %d starts of relays; delivered %.1f s after the last fault", total, len(v.Faults), v.RelayStarts, v.DrainSeconds)
	t.say("%d facts of consumers, which were started %d times", v.Effects, v.ConsumerStarts)
	if v.OK {
		t.say("nothing was violated")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(v.Violations)) {
		if n := v.Violations[name]; n > 0 {
			t.say("VIOLATED %s: %d", name, n)
		}
	}
	t.say("the first findings:\n  %s", strings.Join(v.findings, "\n  "))
	t.say("the logs and the record are in %s", v.dir)
}
