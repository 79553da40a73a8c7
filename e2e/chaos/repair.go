package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/holdfast-dev/holdfast/e2e/history"
)

// reconciled is what relay reconcile says, as far as it is judged.
type reconciled struct {
	Verdict  string `json:"verdict"`
	Settled  int    `json:"settled"`
	Present  int    `json:"present"`
	Findings []struct {
		Finding   string `json:"finding"`
		Count     int    `json:"count"`
		Explained bool   `json:"explained"`
	} `json:"findings"`
	Repair struct {
		Published int `json:"published"`
	} `json:"repair"`
}

// missing is how many settled events it did not find.
func (r *reconciled) missing() int {
	for _, f := range r.Findings {
		if f.Finding == "missing" {
			return f.Count
		}
	}
	return 0
}

// repair puts back what rollbacks removed, as an operator does: with the command, beside the relays. Then
// the command must say that all is sound. What it does is recorded by proxies of its own.
func (t *trial) repair(ctx context.Context) (err error) {
	if t.record.Rollbacks() == 0 {
		return nil
	}
	s, err := newSlot(relays, t.seed, t.servers, 1, t.record)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	name := history.Repairer
	s.name.Store(&name)
	t.say("the server's store was rolled back: relay reconcile puts back what is gone")
	first, err := t.reconcile(ctx, s, "--repair", "--apply", "--yes")
	if err != nil {
		return err
	}
	if n := first.missing(); first.Repair.Published != n {
		t.unmended = append(t.unmended, fmt.Sprintf("%d events were missing, and %d were put back", n, first.Repair.Published))
	}
	second, err := t.reconcile(ctx, s)
	if err != nil {
		return err
	}
	for _, f := range second.Findings {
		// With a short window there are second copies, and rightly so.
		if !f.Explained && (t.window >= safeWindow || f.Finding == "missing") {
			t.unmended = append(t.unmended, fmt.Sprintf("after the repair %d events are %s", f.Count, f.Finding))
		}
	}
	t.repaired = first.Repair.Published
	return nil
}

// reconcile runs relay reconcile and reads its report. Its exit status says the same, but for a short
// window.
func (t *trial) reconcile(ctx context.Context, s *slot, args ...string) (*reconciled, error) {
	ctx, cancel := context.WithTimeout(ctx, restartLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, t.servers.relay, append([]string{"reconcile", "-o", "json"}, args...)...)
	var err error
	if cmd.Env, err = s.environment(history.Repairer); err != nil {
		return nil, err
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	ran := cmd.Run()
	log := filepath.Join(t.servers.dir, fmt.Sprintf("relay-reconcile-%d.log", len(args)))
	if err := os.WriteFile(log, append(stdout.Bytes(), stderr.Bytes()...), 0o644); err != nil {
		return nil, err
	}
	var r reconciled
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil || r.Verdict == "" {
		return nil, fmt.Errorf("relay reconcile has no verdict: %w\n%s", errors.Join(ran, err), &stderr)
	}
	if ran != nil && t.window >= safeWindow {
		t.unmended = append(t.unmended, fmt.Sprintf("relay reconcile %q: %v: %s", args, ran, r.Verdict))
	}
	return &r, nil
}
