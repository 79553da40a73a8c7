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
	Verdict   string `json:"verdict"`
	Explained bool   `json:"explained"`
	Findings  []struct {
		Finding   string `json:"finding"`
		Count     int    `json:"count"`
		Explained bool   `json:"explained"`
	} `json:"findings"`
	Examples []struct {
		Finding string `json:"finding"`
		EventID string `json:"event_id"`
	} `json:"examples"`
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

// unexplained returns how many findings of each kind are not explained, without those by which an
// event that a rollback removed stands behind later ones of its key. That is what a rollback does in
// the midst of a batch: a relay dies, and the next one publishes what it does not find.
func (r *reconciled) unexplained(removed map[string]bool) map[string]int {
	counts := map[string]int{}
	for _, f := range r.Findings {
		if !f.Explained {
			counts[f.Finding] = f.Count
		}
	}
	for _, e := range r.Examples {
		if e.Finding == "disordered" && removed[e.EventID] {
			counts[e.Finding]--
		}
	}
	return counts
}

// repair puts back what rollbacks removed, as an operator does: with the command, beside the relays. Then
// the command must find nothing else. What it does is recorded by proxies of its own.
func (t *trial) repair(ctx context.Context) (err error) {
	removed := t.record.Removed()
	if len(removed) == 0 {
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
	for finding, n := range second.unexplained(removed) {
		// With a short window there are second copies, and rightly so, also behind later events.
		if n > 0 && (t.window >= safeWindow || finding != "duplicated" && finding != "disordered") {
			t.unmended = append(t.unmended, fmt.Sprintf("after the repair %d events are %s, beside those that a rollback removed", n, finding))
		}
	}
	t.repaired = first.Repair.Published
	return nil
}

// reconcile runs relay reconcile and reads its report. Its exit status must say the same.
func (t *trial) reconcile(ctx context.Context, s *slot, args ...string) (*reconciled, error) {
	ctx, cancel := context.WithTimeout(ctx, restartLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, t.servers.relay, append([]string{"reconcile", "-o", "json", "--examples", "1000"}, args...)...)
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
	if (ran == nil) != r.Explained {
		t.unmended = append(t.unmended, fmt.Sprintf("relay reconcile %q ended with %v and says: %s", args, ran, r.Verdict))
	}
	return &r, nil
}
