package audit_test

import (
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/cmd/relay/internal/audit"
	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

func asAuditor(t *testing.T) *audit.Log { return as(t, canonical.Auditor) }

// as has one decision of each kind, and reads as a role.
func as(t *testing.T, reader canonical.Role) *audit.Log {
	t.Helper()
	db := outboxtest.NewDatabase(t)
	fixture, err := os.ReadFile("testdata/decisions.sql")
	if err != nil {
		t.Fatal(err)
	}
	names := gen.RoleNames{}
	for _, role := range canonical.Roles() {
		names[role] = db.Name + "_" + string(role)
	}
	roles, err := gen.Roles(canonical.DefaultParams(), names)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.Pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Release)
	for _, sql := range []string{string(fixture), roles, "set role " + names[reader]} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	log, err := audit.Open(t.Context(), conn, "")
	if err != nil || len(log.Missing) > 0 {
		t.Fatalf("open: %v, missing %v", err, log.Missing)
	}
	return log
}

func read(t *testing.T, log *audit.Log, f audit.Filter) []audit.Decision {
	t.Helper()
	var found []audit.Decision
	err := log.Each(t.Context(), f, func(d audit.Decision) error {
		d.At = d.At.UTC()
		found = append(found, d)
		return nil
	})
	if err != nil {
		t.Fatalf("read %+v: %v", f, err)
	}
	return found
}

func whats(found []audit.Decision) []string {
	var all []string
	for _, d := range found {
		all = append(all, d.What)
	}
	return all
}

func at(minute int) time.Time { return time.Date(2026, 11, 1, 10, minute, 0, 0, time.UTC) }

func TestAnAuditorReadsEveryKindOfDecision(t *testing.T) {
	t.Parallel()
	found := read(t, asAuditor(t), audit.Filter{})
	if !slices.IsSortedFunc(found, func(a, b audit.Decision) int { return a.At.Compare(b.At) }) {
		t.Errorf("not in the order of time: %v", found)
	}
	if diff := cmp.Diff(audit.Whats(), slices.Sorted(slices.Values(whats(found)))); diff != "" {
		t.Errorf("the kinds (-known +read):\n%s", diff)
	}
	for _, want := range []audit.Decision{
		{At: at(0), What: "hold.release", Subject: "0192f0c1-0000-7000-8000-000000000001 2", Actor: "checkout", Reason: "committed"},
		{At: at(0), What: "hold.drop-event", Subject: "0192f0c1-0000-7000-8000-000000000001 2 e-1", Actor: "checkout"},
		{At: at(1), What: "operation.abort", Subject: "0192f0c1-0000-7000-8000-000000000002", Actor: "reconciler", Reason: "customer left"},
		{At: at(1), What: "operation.undo", Subject: "0192f0c1-0000-7000-8000-000000000002", Actor: "reconciler"},
		{At: at(2), What: "dead-letter.requeue", Subject: "7", Actor: "alice", Reason: "limit raised"},
		{At: at(3), What: "consumer-dead-letter.replay", Subject: "8", Actor: "alice", Reason: "handler mended"},
		{At: at(4), What: "consumer.pause", Subject: "ledger", Actor: "bob", Reason: "cut-over"},
		{At: at(5), What: "consumer.resume", Subject: "mail", Actor: "bob", Reason: "mended"},
		{At: at(6), What: "consumer-quarantine.resolve", Subject: "1", Actor: "carol", Reason: "wrong amount"},
		{At: at(7), What: "consumer.repair", Subject: "public.refund 2", Actor: "dave", Reason: "two (or more) runs"},
	} {
		if !slices.Contains(found, want) {
			t.Errorf("%+v is not in the list:\n%v", want, found)
		}
	}
}

func TestAnOperatorReadsWhatAnAuditorReads(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(audit.Whats(), slices.Sorted(slices.Values(whats(read(t, as(t, canonical.Operator), audit.Filter{}))))); diff != "" {
		t.Errorf("the kinds (-known +read):\n%s", diff)
	}
}

func TestFiltersChoose(t *testing.T) {
	t.Parallel()
	log := asAuditor(t)
	for _, c := range []struct {
		name   string
		filter audit.Filter
		want   []string
	}{
		{"a time, without its end", audit.Filter{Since: at(4), Until: at(6)}, []string{"consumer.pause", "consumer.resume"}},
		{"an actor", audit.Filter{Actor: "dave"}, []string{"consumer.repair"}},
		{"a noun", audit.Filter{What: []string{"dead-letter"}}, []string{"dead-letter.discard", "dead-letter.requeue"}},
		{"a kind and a noun", audit.Filter{What: []string{"hold.cancel", "consumer"}}, []string{"hold.cancel", "consumer.pause", "consumer.resume", "consumer.repair"}},
		{"the newest", audit.Filter{Newest: true, Limit: 3}, []string{"consumer.repair", "consumer-quarantine.resolve", "consumer.resume"}},
		{"the oldest", audit.Filter{Limit: 2}, []string{"hold.cancel", "hold.compensate"}},
		{"nobody", audit.Filter{Actor: "eve"}, nil},
	} {
		if diff := cmp.Diff(c.want, whats(read(t, log, c.filter))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestAnErrorEndsTheReading(t *testing.T) {
	t.Parallel()
	full := errors.New("the disk is full")
	seen := 0
	err := asAuditor(t).Each(t.Context(), audit.Filter{}, func(audit.Decision) error {
		seen++
		return full
	})
	if !errors.Is(err, full) || seen != 1 {
		t.Errorf("%d decisions were read, then %v", seen, err)
	}
}

func TestWhatIsNotInstalledIsLeftOut(t *testing.T) {
	t.Parallel()
	install := func(components ...canonical.Component) (*audit.Log, error) {
		conn, err := outboxtest.NewEmptyDatabase(t).Pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(conn.Release)
		if len(components) > 0 {
			if err := gen.Install(t.Context(), conn.Conn(), canonical.DefaultParams(), components...); err != nil {
				t.Fatal(err)
			}
		}
		return audit.Open(t.Context(), conn, "outbox")
	}
	log, err := install(canonical.Consumer)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]canonical.Component{canonical.Relay, canonical.Hold, canonical.Saga}, log.Missing); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	if found := read(t, log, audit.Filter{}); len(found) > 0 {
		t.Errorf("found %v", found)
	}
	if _, err := install(canonical.Outbox); !errors.Is(err, audit.ErrNothing) {
		t.Errorf("with a log alone: %v, want ErrNothing", err)
	}
	if _, err := install(); !errors.Is(err, outbox.ErrSchemaMissing) {
		t.Errorf("with nothing: %v, want ErrSchemaMissing", err)
	}
}
