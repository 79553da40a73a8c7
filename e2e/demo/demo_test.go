package main

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

// promised is what the last line says.
var promised = []string{
	"body_mismatches", "committed", "dropped", "dropped_published", "duplicates_in_stream", "held", "held_published",
	"invalid_events", "lost", "order_violations", "orders", "phantom", "published", "refused_late_writes", "relay_kills",
	"released", "rolled_back", "seconds", "seed",
}

func TestDemo(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"-orders", "500", "-workers", "8", "-seed", "7"}, &stdout, &stderr)
	if code != exitOK {
		t.Fatalf("exit code %d\n%s\n%s", code, stdout.String(), stderr.String())
	}
	got := lastLine(t, stdout.String())
	if diff := cmp.Diff(promised, sortedKeys(got)); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	zero := []string{"lost", "phantom", "dropped_published", "held_published", "order_violations", "body_mismatches", "invalid_events", "duplicates_in_stream"}
	for key, n := range got {
		if (n == 0) != slices.Contains(zero, key) {
			t.Errorf("%s is %v", key, n)
		}
	}
	if got["orders"] != 500 || got["seed"] != 7 || got["relay_kills"] != 1 {
		t.Errorf("orders %v, seed %v, kills %v", got["orders"], got["seed"], got["relay_kills"])
	}
	if got["committed"] != got["published"]+got["held"]+got["dropped"] {
		t.Errorf("%v committed are not %v published, %v held and %v dropped", got["committed"], got["published"], got["held"], got["dropped"])
	}
	if !strings.Contains(stderr.String(), "killed relay-1 with SIGKILL") || strings.Contains(stdout.String(), "FAILED") {
		t.Errorf("it said:\n%s\n%s", stderr.String(), stdout.String())
	}
	t.Log(stdout.String())
}

// damage makes each kind of history that must not be, in the real system: what the relays
// publish is right, so it is the business tables that get to tell another story.
var damage = []struct {
	statement string
	changes   int64
}{
	// Lost: the shop says that it told the world, and did not.
	{`insert into orders.history values (gen_random_uuid(), 1, 'lost', 'order.placed', sha256('x'), null, null)`, 1},
	// Phantom: an event without business rows.
	{`select outbox.publish_text('/orders', 'order.placed', '{"version":1}', partitionkey => 'k')`, 1},
	// Called off, or undecided, and published.
	{`with one as (select operation_id from checkout.operations where state = 'completed' order by operation_id limit 1)
	  update checkout.operations set state = 'called off' where operation_id = (table one)`, 1},
	{`with one as (select operation_id from checkout.operations where state = 'completed' order by operation_id limit 1)
	  update checkout.operations set state = 'open' where operation_id = (table one)`, 1},
	// Another body than was staged.
	{`with one as (select payment_id from payments.history where version = 2 and operation_id is null order by payment_id limit 1)
	  update payments.history set payload_sha256 = sha256('x') where version = 2 and payment_id = (table one)`, 1},
	// A later event of a key before an earlier one.
	{`with body (id, version) as (values ('late', 2), ('early', 1)), told as (
	    insert into orders.history select '00000000-0000-4000-8000-000000000000', version, id, 'order.placed', sha256(format('{"version":%s}', version)::bytea) from body)
	  select outbox.publish_text('/orders', 'order.placed', format('{"version":%s}', version), id => id, partitionkey => '00000000-0000-4000-8000-000000000000') from body`, 2},
}

// TestDemoCanFail: each kind of damage is counted, by its own number, and fails the demo.
func TestDemoCanFail(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	d := &demo{
		settings: settings{orders: 300, workers: 8, seed: 11}, stdout: &stdout, screen: newScreen(&stderr),
		tamper: func(ctx context.Context, s *servers) error {
			return pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
				for _, d := range damage {
					tag, err := tx.Exec(ctx, d.statement)
					if err != nil {
						return err
					}
					if tag.RowsAffected() != d.changes {
						t.Errorf("%d rows changed by %s", tag.RowsAffected(), d.statement)
					}
				}
				return nil
			})
		},
	}
	ok, err := d.run(t.Context())
	if err != nil || ok {
		t.Fatalf("ok is %v: %v\n%s", ok, err, stderr.String())
	}
	got := lastLine(t, stdout.String())
	want := map[string]float64{
		"lost": 1, "phantom": 1, "dropped_published": checkoutEvents, "held_published": checkoutEvents,
		"body_mismatches": 1, "order_violations": 1, "invalid_events": 0, "duplicates_in_stream": 0,
	}
	for key, n := range want {
		if got[key] != n {
			t.Errorf("%s is %v, want %v", key, got[key], n)
		}
	}
	for _, text := range []string{"FAILED", "The first findings:", "relay-2 logged last:"} {
		if !strings.Contains(stdout.String(), text) {
			t.Errorf("it does not say %q:\n%s", text, stdout.String())
		}
	}
}
