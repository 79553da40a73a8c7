package outbox_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

var allComponents = canonical.Components()

func TestReadSchema(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewEmptyDatabase(t)
	params := canonical.Params{Schema: "events", Lanes: 5, Slots: 7, Period: 90 * time.Minute, MaxEventBytes: 2048}
	err := db.Pool.AcquireFunc(t.Context(), func(conn *pgxConn) error {
		return gen.Install(t.Context(), conn.Conn(), params, canonical.Relay)
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := outbox.Verify(t.Context(), db.Pool, "events", canonical.Relay)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(params, s.Params); diff != "" {
		t.Errorf("parameters (-want +got):\n%s", diff)
	}
	if len(s.Components) != 2 || s.Name != "events" || s.Identity == 0 {
		t.Errorf("schema is %+v", s)
	}
	relay, has := s.Component(canonical.Relay)
	if !has || relay.Version != canonical.Version(canonical.Relay) || relay.Identity != s.Identity || relay.Params != params {
		t.Errorf("relay is %+v", relay)
	}
	if _, has := s.Component(canonical.Hold); has {
		t.Error("the component hold is there")
	}
	if _, err := outbox.ReadSchema(t.Context(), db.Pool, "x; drop"); err == nil {
		t.Error("a name that is no identifier was accepted")
	}
}

// TestSchemaMissing: asking must not cost the caller's transaction.
func TestSchemaMissing(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewEmptyDatabase(t)
	err := pgx.BeginFunc(t.Context(), db.Pool, func(tx pgx.Tx) error {
		_, err := outbox.Verify(t.Context(), tx, "")
		var missing *outbox.SchemaError
		if !errors.Is(err, outbox.ErrSchemaMissing) || !errors.As(err, &missing) || missing.Component != canonical.Outbox || missing.Expected != "1" {
			t.Errorf("error is %v", err)
		}
		_, err = tx.Exec(t.Context(), "SELECT 1")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestVerifyFindsDifferences(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		change    string
		sentinel  error
		component canonical.Component
		property  string
		hint      string
	}{
		{"nothing", "SELECT 1", nil, "", "", ""},
		{"component missing", "DELETE FROM outbox.holdfast_schema WHERE component = 'relay'", outbox.ErrSchemaMissing, canonical.Relay, "version", "outbox-gen write"},
		{"outbox missing", "DELETE FROM outbox.holdfast_schema WHERE component = 'outbox'", outbox.ErrSchemaMissing, canonical.Outbox, "version", "outbox-gen write"},
		{"newer", "UPDATE outbox.holdfast_schema SET version = 99 WHERE component = 'hold'", outbox.ErrSchemaMismatch, canonical.Hold, "version", "upgrade this one"},
		{"edited", "UPDATE outbox.holdfast_schema SET checksum = repeat('a', 64) WHERE component = 'hold'", outbox.ErrSchemaMismatch, canonical.Hold, "checksum", "outbox-gen verify"},
		{"other lanes", `UPDATE outbox.holdfast_schema SET parameters = jsonb_set(parameters, '{lanes}', '8') WHERE component = 'relay'`, outbox.ErrSchemaMismatch, canonical.Relay, "parameters", "outbox-gen verify"},
		{"all other lanes", `UPDATE outbox.holdfast_schema SET parameters = jsonb_set(parameters, '{lanes}', '8')`, outbox.ErrSchemaMismatch, canonical.Outbox, "checksum", "outbox-gen verify"},
		{"another cluster", "UPDATE outbox.holdfast_schema SET system_identifier = 42", outbox.ErrForeignCluster, canonical.Outbox, "system identifier", "relay rebase"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			db := outboxtest.NewDatabase(t)
			if _, err := db.Pool.Exec(t.Context(), c.change); err != nil {
				t.Fatal(err)
			}
			_, err := outbox.Verify(t.Context(), db.Pool, "outbox", allComponents...)
			if c.sentinel == nil {
				if err != nil {
					t.Errorf("error is %v", err)
				}
				return
			}
			var found *outbox.SchemaError
			if !errors.Is(err, c.sentinel) || !errors.As(err, &found) {
				t.Fatalf("error is %v", err)
			}
			if found.Component != c.component || found.Property != c.property || !strings.Contains(outbox.Hint(err), c.hint) {
				t.Errorf("error is %v, hint %q", err, outbox.Hint(err))
			}
		})
	}
}

func TestVerifyLooksAtWhatIsNamed(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	if _, err := db.Pool.Exec(t.Context(), "DELETE FROM outbox.holdfast_schema WHERE component = 'relay'"); err != nil {
		t.Fatal(err)
	}
	p := newPublisher(t, outbox.Config{})
	if err := p.Verify(t.Context(), db.Pool); err != nil {
		t.Errorf("a producer needs no relay: %v", err)
	}
	if err := p.Verify(t.Context(), db.Pool, canonical.Hold); err != nil {
		t.Errorf("nor does one that holds: %v", err)
	}
	if err := p.Verify(t.Context(), db.Pool, canonical.Relay); !errors.Is(err, outbox.ErrSchemaMissing) {
		t.Errorf("error is %v", err)
	}
	large := newPublisher(t, outbox.Config{MaxEventBytes: 2_000_000})
	var found *outbox.SchemaError
	if err := large.Verify(t.Context(), db.Pool); !errors.As(err, &found) || found.Property != "max_event_bytes" || outbox.Hint(err) == "" {
		t.Errorf("error is %v", err)
	}
	if _, err := outbox.Verify(t.Context(), db.Pool, "", "nonsense"); err == nil {
		t.Error("an unknown component was accepted")
	}
}
