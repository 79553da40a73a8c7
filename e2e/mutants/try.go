package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// within is how long a mutant may take to deliver; one that loses its way would take for ever.
const within = 45 * time.Second

// try runs chaos over a relay, and a consumer if it has one of its own, and returns the invariants that
// were violated.
func try(ctx context.Context, chaos, relay, consumer string, m *mutant, seed uint64, length time.Duration) ([]string, error) {
	args := []string{
		"-relay", relay, "-setup", "single", "-seed", strconv.FormatUint(seed, 10),
		"-duration", length.String(), "-only", m.faults, "-within", within.String(),
	}
	if consumer != "" {
		args = append(args, "-consumer", consumer)
	}
	if m.window != "" {
		args = append(args, "-window", m.window)
	}
	cmd := exec.CommandContext(ctx, chaos, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	line, ok := strings.CutPrefix(strings.TrimSpace(stdout.String()), "CHAOS ")
	if !ok {
		return nil, errors.Join(fmt.Errorf("chaos has no verdict:\n%s", &stderr), err)
	}
	var verdict struct {
		Error      string
		Violations map[string]int
	}
	if err := json.Unmarshal([]byte(line), &verdict); err != nil {
		return nil, err
	}
	if verdict.Error != "" {
		return nil, fmt.Errorf("chaos has no verdict: %s\n%s", verdict.Error, &stderr)
	}
	var violated []string
	for name, n := range verdict.Violations {
		if n > 0 {
			violated = append(violated, name)
		}
	}
	slices.Sort(violated)
	return violated, nil
}

// expected says whether one of the invariants is among those that should see the mutant.
func (m *mutant) expected(violated []string) bool {
	return slices.ContainsFunc(m.caughtBy, func(name string) bool { return slices.Contains(violated, name) })
}
