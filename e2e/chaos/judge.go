package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/e2e/history"
)

// The verdicts beside those of package history.
const (
	relayProcess = "relay_process"    // a relay ended by itself, or not in order
	eaterProcess = "consumer_process" // a consumer did
	noSecrets    = "no_secrets"       // a payload or a credential in a log or in metrics
	noRace       = "no_race"          // a data race
	mended       = "mended"           // relay reconcile did not put back what a rollback removed, or denied it
)

// judge ends the relays and judges the record.
func (t *trial) judge(ctx context.Context, h *history.History) (*verdict, error) {
	v := &verdict{Setup: t.setup, Violations: map[string]int{relayProcess: 0, eaterProcess: 0, noSecrets: 0, noRace: 0, mended: 0}, dir: t.servers.dir}
	if err := t.endRelays(ctx, h, v); err != nil {
		return nil, err
	}
	for _, e := range t.eaters {
		for _, f := range e.faults {
			v.violate(eaterProcess, "%s", f)
		}
	}
	if err := t.readTruth(ctx, h); err != nil {
		return nil, err
	}
	report := h.Judge()
	maps.Copy(v.Violations, report.Violations)
	v.findings = append(v.findings, report.Findings...)
	for _, what := range t.unmended {
		v.violate(mended, "%s", what)
	}
	if n := h.Repaired(); n != t.repaired {
		v.violate(mended, "relay reconcile says that it published %d events, and was told of %d", t.repaired, n)
	}
	if err := t.searchLogs(v); err != nil {
		return nil, err
	}
	v.OK = true
	for _, n := range v.Violations {
		v.OK = v.OK && n == 0
	}
	t.figures(h, v)
	if !v.OK {
		return v, t.dump(h)
	}
	return v, nil
}

// dump leaves the record beside the logs.
func (t *trial) dump(h *history.History) error {
	f, err := os.Create(filepath.Join(t.servers.dir, "history.jsonl"))
	if err != nil {
		return err
	}
	return errors.Join(h.Dump(f), f.Close())
}

// endRelays takes the counters of the relays that live, and stops them.
func (t *trial) endRelays(ctx context.Context, h *history.History, v *verdict) error {
	for _, s := range t.slots {
		var metrics string
		// One that was started last may not listen yet.
		err := t.until(ctx, readyLimit, fmt.Sprintf("relay %d tells its metrics", s.number+1), func(context.Context) (bool, error) {
			if !s.process().Running() {
				return true, nil // of which stop speaks
			}
			var err error
			metrics, err = s.metrics()
			return err == nil, err
		})
		if err != nil {
			return err
		}
		counter, err := s.counter(metrics)
		if err != nil {
			return fmt.Errorf("metrics of relay %d: %w", s.number+1, err)
		}
		h.Counters = append(h.Counters, counter)
		searchSecrets(v, fmt.Sprintf("/metrics of relay %d", s.number+1), metrics)
		s.stop()
		for _, f := range s.faults {
			v.violate(relayProcess, "%s", f)
		}
	}
	return nil
}

// readTruth reads the ledger, the witness and the stream.
func (t *trial) readTruth(ctx context.Context, h *history.History) error {
	h.Committed, h.Decided = map[history.Name]bool{}, map[history.Generation]bool{}
	rows, err := t.servers.db.Query(ctx, "SELECT source, event_id FROM chaos.ledger")
	if err != nil {
		return fmt.Errorf("read the ledger: %w", err)
	}
	var n history.Name
	if _, err := pgx.ForEachRow(rows, []any{&n.Source, &n.ID}, func() error { h.Committed[n] = true; return nil }); err != nil {
		return fmt.Errorf("read the ledger: %w", err)
	}
	rows, err = t.servers.db.Query(ctx, "SELECT operation::text, generation, released FROM chaos.decision")
	if err != nil {
		return fmt.Errorf("read the decisions: %w", err)
	}
	var g history.Generation
	var release bool
	if _, err := pgx.ForEachRow(rows, []any{&g.Operation, &g.Number, &release}, func() error { h.Decided[g] = release; return nil }); err != nil {
		return fmt.Errorf("read the decisions: %w", err)
	}
	if err := h.ReadWitness(ctx, t.servers.db); err != nil {
		return err
	}
	if err := t.readEffects(ctx, h); err != nil {
		return err
	}
	h.Stream, err = history.ReadStream(ctx, t.servers.source())
	return err
}

// searchLogs looks for what no log may have.
func (t *trial) searchLogs(v *verdict) error {
	server, err := t.servers.pg.Log()
	if err != nil {
		return err
	}
	if err := searchServerLog(v, server); err != nil {
		return err
	}
	logs, err := filepath.Glob(filepath.Join(t.servers.dir, "relay-*.log"))
	if err != nil || len(logs) == 0 {
		return errors.Join(err, errors.New("no logs of relays"))
	}
	eaten, err := filepath.Glob(filepath.Join(t.servers.dir, "consumer-*.log"))
	if err != nil || len(eaten) == 0 {
		return errors.Join(err, errors.New("no logs of consumers"))
	}
	for _, path := range append(logs, eaten...) {
		log, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		searchSecrets(v, filepath.Base(path), string(log))
		if bytes.Contains(log, []byte("WARNING: DATA RACE")) {
			v.violate(noRace, "%s has a data race", filepath.Base(path))
		}
		if bytes.Contains(log, []byte("panic:")) {
			v.violate(relayProcess, "%s has a panic", filepath.Base(path))
		}
	}
	return nil
}

func (t *trial) figures(h *history.History, v *verdict) {
	v.Events, v.Stream, v.Duplicates = len(h.Committed), len(h.Stream), h.Duplicates()
	v.RolledBack, v.Unknown = int(t.load.rolledBack.Load()), int(t.load.unknown.Load())
	v.Decisions, v.Publications = len(h.Decided), len(h.Publications)
	v.Refused, v.DeadLetters = h.Refused()
	v.Faults = t.hits
	for _, b := range h.Rollbacks {
		v.RolledBackMessages += len(b.Lost)
	}
	v.Repaired = t.repaired
	for _, s := range t.slots {
		v.RelayStarts += s.starts
	}
	v.Effects = len(h.Effects)
	for _, e := range t.eaters {
		v.ConsumerStarts += e.starts
	}
	if !h.Limits.Drained.IsZero() {
		v.DrainSeconds = h.Limits.Drained.Sub(h.Limits.Healed).Seconds()
	}
}
