package retention_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/relay/retention"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// TestStatementsPrepare prepares every statement in another schema, with and without holds, and
// makes a pass there.
func TestStatementsPrepare(t *testing.T) {
	t.Parallel()
	for _, components := range [][]canonical.Component{{canonical.Outbox, canonical.Relay}, {canonical.Outbox, canonical.Hold, canonical.Relay}} {
		db := outboxtest.NewEmptyDatabase(t)
		conn, err := pgx.Connect(t.Context(), db.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context()) //nolint:errcheck // ends with the test
		params := canonical.Params{Schema: "shop_events", Lanes: 3, Slots: 5, Period: time.Hour}
		if err := gen.Install(t.Context(), conn, params, components...); err != nil {
			t.Fatalf("install: %v", err)
		}
		outboxtest.Prepare(t, db.URL, retention.StatementTexts("shop_events"))
		k, err := retention.New(db.Pool, retention.Config{Schema: "shop_events", Owner: "pod"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Pool.Exec(t.Context(), `INSERT INTO shop_events.event_outbox (slot, event_id, source, type, staged_at)
			SELECT (floor(extract(epoch from clock_timestamp()) / 3600)::int + 3) % 5, i::text, '/s', 't', clock_timestamp() - interval '1 day'
			  FROM generate_series(1, 9) AS i`); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Pool.Exec(t.Context(), "UPDATE shop_events.outbox_lane SET drained = pg_current_snapshot()"); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the slot is emptied", func() bool {
			r, err := k.Pass(t.Context())
			if err != nil {
				t.Fatalf("pass: %v", err)
			}
			if len(r.State.Slots) != 5 || r.State.Longest != 3*time.Hour || r.State.Keep != 3*time.Hour || r.State.Period != time.Hour {
				t.Fatalf("state %+v", r.State)
			}
			return len(r.Emptied) == 1
		})
	}
}

// TestSettings refuses what cannot work, all of it at once.
func TestSettings(t *testing.T) {
	t.Parallel()
	_, err := retention.New(nil, retention.Config{Schema: "a b", Keep: -1, Records: time.Hour, Every: time.Millisecond, Owner: strings.Repeat("x", 129)})
	var refused *retention.ConfigError
	if !errors.As(err, &refused) || len(refused.Problems) != 5 {
		t.Errorf("error %v", err)
	}
	if _, err := retention.New(nil, retention.Config{}); err != nil {
		t.Errorf("the defaults: %v", err)
	}
}
