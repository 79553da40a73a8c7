package gen_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// clock is when every test writes.
var clock = time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)

// small is a schema that a person can read in a golden file, with what is hard for tools:
// semicolons in strings, comments and bodies, and dollars of all kinds.
func small(versions map[canonical.Component]int) func(canonical.Params, ...canonical.Component) ([]canonical.Rendered, error) {
	texts := map[canonical.Component][]string{
		canonical.Outbox: {
			"-- The log; it's append-only.\nCREATE SCHEMA IF NOT EXISTS %[1]s;\n\nCREATE TABLE %[1]s.event_outbox (\n  id   bigint PRIMARY KEY, -- a position; never reused\n  kind text CHECK (kind ~ '^[a-z]+$' AND kind <> ';')\n);\n\n" +
				"-- publish stages one event.\nCREATE FUNCTION %[1]s.publish(kind text) RETURNS bigint\nLANGUAGE plpgsql\nAS $$\nDECLARE\n  n bigint := 1; -- one\nBEGIN\n  INSERT INTO %[1]s.event_outbox VALUES (n, kind);\n\n  RETURN n;\nEND\n$$;\n",
			"ALTER TABLE %[1]s.event_outbox ADD COLUMN note text DEFAULT 'a;\nb;\n';\nCREATE INDEX event_outbox_note ON %[1]s.event_outbox (note);\n",
		},
		canonical.Hold:  {"CREATE TABLE %[1]s.outbox_hold (operation uuid PRIMARY KEY);\n"},
		canonical.Relay: {"CREATE TABLE %[1]s.outbox_lane (lane integer PRIMARY KEY);\n"},
	}
	return func(p canonical.Params, components ...canonical.Component) ([]canonical.Rendered, error) {
		var plan []canonical.Rendered
		for _, component := range canonical.Components() {
			if component != canonical.Outbox && !slices.Contains(components, component) {
				continue
			}
			for version := 1; version <= versions[component]; version++ {
				sql := fmt.Sprintf(texts[component][version-1], p.WithDefaults().Schema)
				plan = append(plan, canonical.Rendered{
					File: canonical.File{Component: component, Version: version, Name: "small"},
					SQL:  sql, Checksum: fmt.Sprintf("%x", sha256.Sum256([]byte(sql))),
				})
			}
		}
		return plan, nil
	}
}

var (
	firstVersions = map[canonical.Component]int{canonical.Outbox: 1, canonical.Hold: 1, canonical.Relay: 1}
	nextVersions  = map[canonical.Component]int{canonical.Outbox: 2, canonical.Hold: 1, canonical.Relay: 1}
)

// config is one service in a root, with all components and the small schema.
func config(root string, tool gen.Tool) gen.Config {
	return gen.Config{
		Version: gen.ConfigVersion, Root: root, Now: func() time.Time { return clock },
		Defaults: gen.Defaults{Tool: tool},
		Services: []gen.Service{{Name: "orders", Dir: "migrations", Components: canonical.Components()}},
	}.WithPlan(small(firstVersions))
}

// mustWrite writes, and fails the test when that fails.
func mustWrite(t *testing.T, c gen.Config) gen.Report {
	t.Helper()
	report, err := gen.Write(t.Context(), c)
	if err != nil {
		t.Fatalf("write: %v", err)
	}
	return report
}

// mustCheck checks, and fails the test when that fails.
func mustCheck(t *testing.T, c gen.Config) []gen.Drift {
	t.Helper()
	found, err := gen.Check(c)
	if err != nil {
		t.Fatalf("check: %v", err)
	}
	return found
}
