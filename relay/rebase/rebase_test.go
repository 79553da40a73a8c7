package rebase_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go"

	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/relay"
	"github.com/holdfast-dev/holdfast/relay/rebase"
	"github.com/holdfast-dev/holdfast/relay/retry"
)

// past is what happened in the old cluster.
type past struct {
	main, mirror       *broker
	released, cancels  outbox.Hold
	undrained, drained int64 // of group default
}

// live makes an old cluster's database with everything in it that a rebase can meet: settled events, a
// dead letter, an event that is refused still with others behind it, a backlog that is being
// paged, events that nobody drained, some of them in the stream, held ones, and a second
// group that stopped long ago.
func live(t *testing.T, a *store) *past {
	t.Helper()
	h := &past{main: newBroker(t, "default"), mirror: newBroker(t, "mirror")}
	quick := func(c *relay.Config) {
		c.Retry = retry.Policy{MaxRetries: 1, Initial: 10 * time.Millisecond, Max: 20 * time.Millisecond}
	}
	first, second := h.main.start(a, quick), h.mirror.start(a, quick)
	a.stageSized("dead", 1, 10_000)
	a.stage("dead", 3)
	for key := range 10 {
		a.stage(fmt.Sprint("key-", key), 30)
	}
	eventually(t, "everything but the dead letter is in both streams", func() bool { return h.main.count() == 303 && h.mirror.count() == 303 })
	eventually(t, "both groups have a dead letter", func() bool { return one[int](a, "SELECT count(*) FROM outbox.outbox_dead_letter") == 2 })
	eventually(t, "everything is settled", func() bool {
		return one[int](a, "SELECT sum(events) FROM outbox.outbox_batch") == 606 && one[int](a, "SELECT count(*) FROM outbox.outbox_retry") == 0
	})
	for _, p := range []*pod{first, second} {
		if err := p.wait(); err != nil {
			t.Fatal(err)
		}
	}

	p := h.main.start(a, func(c *relay.Config) {
		c.BatchSize = 20
		c.Retry = retry.Policy{MaxRetries: 100, Initial: time.Hour, Max: time.Hour}
	})
	a.stageSized("poison", 1, 10_000)
	a.stage("poison", 4)
	eventually(t, "a key waits", func() bool { return one[int](a, "SELECT count(*) FROM outbox.outbox_retry") == 5 })
	h.released = a.hold("key-1", 20)
	h.cancels = a.hold("key-2", 10)
	for key := range 10 {
		a.stage(fmt.Sprint("key-", key), 400)
	}
	eventually(t, "a lane is paged", func() bool { return one[bool](a, "SELECT bool_or(target IS NOT NULL) FROM outbox.outbox_lane") })
	h.main.nats.Stop()
	p.kill()
	if err := h.main.nats.Start(); err != nil {
		t.Fatal(err)
	}
	if !one[bool](a, "SELECT bool_or(target IS NOT NULL) FROM outbox.outbox_lane") {
		t.Fatal("the backlog was drained before the relay was killed")
	}
	a.stage("late", 50)
	h.publish(t, a, "late", 20)
	a.stage("key-3", 10)
	h.undrained = one[int64](a, `SELECT count(*) FROM outbox.event_outbox e JOIN outbox.outbox_lane l ON l.lane = e.lane AND l.relay_group = 'default'
		WHERE NOT pg_visible_in_snapshot(e.tx, l.drained) AND NOT coalesce(pg_visible_in_snapshot(e.tx, l.target) AND e.seq <= l.pos, false)`)
	h.drained = one[int64](a, "SELECT count(*) FROM outbox.event_outbox WHERE tx IS NOT NULL") - h.undrained
	if h.undrained < 60 || h.drained < 309 {
		t.Fatalf("%d events are drained and %d are not", h.drained, h.undrained)
	}
	return h
}

// publish puts the first n events of a key into the stream, as a relay does that dies before it
// settles, or one that went on after the dump.
func (h *past) publish(t *testing.T, a *store, key string, n int) {
	t.Helper()
	nc, err := nats.Connect(h.main.nats.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	p, err := relay.NewPublisher(nc, relay.Config{Stream: streamName})
	if err != nil {
		t.Fatal(err)
	}
	var records []outbox.Record
	for _, e := range outboxtest.Staged(t, a.pool) {
		if e.PartitionKey == key && len(records) < n {
			records = append(records, e.Record)
		}
	}
	if err := p.Publish(t.Context(), records); err != nil {
		t.Fatal(err)
	}
}

// refuses expects that no relay runs on the database.
func (b *broker) refuses(s *store) {
	s.t.Helper()
	p := b.start(s)
	select {
	case <-p.ended:
	case <-time.After(90 * time.Second):
		s.t.Fatal("a relay drains a database of another cluster")
	}
	if err := p.wait(); !errors.Is(err, outbox.ErrForeignCluster) {
		s.t.Fatalf("the relay ended with %v", err)
	}
}

// stageHere commits events in the new cluster before anybody has rebased it, some of them in a
// savepoint. A number that the log has already is refused by the database; the next one is
// tried, as a service would.
func (s *store) stageHere(keys ...string) {
	s.t.Helper()
	for i, key := range keys {
		eventually(s.t, "an event is staged", func() bool {
			err := pgx.BeginFunc(s.t.Context(), s.pool, func(tx pgx.Tx) error {
				if _, err := tx.Exec(s.t.Context(), "SELECT pg_current_xact_id()"); err != nil || i%2 == 0 {
					if err == nil {
						_, err = outbox.PublishTx(s.t.Context(), tx, events(key, 1, 10)...)
					}
					return err
				}
				return pgx.BeginFunc(s.t.Context(), tx, func(inner pgx.Tx) error {
					_, err := outbox.PublishTx(s.t.Context(), inner, events(key, 1, 10)...)
					return err
				})
			})
			return err == nil
		})
	}
}

// rebased applies a rebase as soon as the leases that were copied have ended.
func rebased(t *testing.T, b *store) *rebase.Plan {
	t.Helper()
	var done *rebase.Plan
	eventually(t, "the copied leases end", func() bool {
		var err error
		done, err = rebase.Apply(t.Context(), b.pool, rebase.Config{})
		var lease *rebase.LiveLeaseError
		if err != nil && !errors.As(err, &lease) {
			t.Fatalf("rebase: %v (%s)", err, outbox.Hint(err))
		}
		return err == nil
	})
	return done
}

// drains lets both groups drain what is left and compares the streams with the log.
func (h *past) drains(t *testing.T, b *store) {
	t.Helper()
	b.release(h.released)
	b.cancel(h.cancels)
	eventually(t, "the dedup window is over", h.main.forgets)
	h.main.limit(-1)
	h.mirror.limit(-1)
	b.exec("UPDATE outbox.outbox_retry SET next_visible_at = clock_timestamp() WHERE work_kind = 'retry_scheduled'")
	pods := []*pod{h.main.start(b), h.mirror.start(b)}
	b.stage("key-1", 5)
	want := one[int](b, "SELECT count(*) FROM outbox.event_outbox") - 1 // each group has one dead letter
	eventually(t, "both streams have everything", func() bool { return h.main.count() >= want && h.mirror.count() >= want })
	eventually(t, "nothing waits and everything is drained", func() bool {
		return one[bool](b, `SELECT NOT EXISTS (SELECT FROM outbox.outbox_retry) AND NOT EXISTS (SELECT FROM outbox.event_outbox e
			JOIN outbox.outbox_lane l ON l.lane = e.lane WHERE l.target IS NOT NULL OR NOT pg_visible_in_snapshot(e.tx, l.drained))`)
	})
	for _, p := range pods {
		if err := p.wait(); err != nil {
			t.Errorf("run: %v", err)
		}
	}
	for _, stream := range []*broker{h.main, h.mirror} {
		stream.compare(b)
	}
}

// compare wants every event but the dead letter once, and each key in the order of the log.
func (b *broker) compare(s *store) {
	b.t.Helper()
	list := b.published()
	seen := map[string]int{}
	got := map[string][]string{}
	for _, e := range list {
		key, _ := e.Extensions()["partitionkey"].(string)
		if seen[e.ID()]++; seen[e.ID()] == 1 {
			got[key] = append(got[key], e.ID())
		}
	}
	if n := len(list) - len(seen); n > 0 {
		b.t.Errorf("group %s: %d duplicates", b.group, n)
	}
	want := map[string][]string{}
	rows, err := s.pool.Query(b.t.Context(), `SELECT e.event_id, e.partition_key FROM outbox.event_outbox e
		WHERE NOT EXISTS (SELECT FROM outbox.outbox_dead_letter d WHERE d.relay_group = $1 AND d.lane = e.lane AND d.seq = e.seq)
		ORDER BY e.seq`, b.group)
	if err != nil {
		b.t.Fatal(err)
	}
	var id, key string
	if _, err := pgx.ForEachRow(rows, []any{&id, &key}, func() error { want[key] = append(want[key], id); return nil }); err != nil {
		b.t.Fatal(err)
	}
	for key, ids := range want {
		if !slices.Equal(got[key], ids) {
			b.t.Errorf("group %s, key %s: the stream has %d events, the log %d, or another order", b.group, key, len(got[key]), len(ids))
		}
		delete(got, key)
	}
	for key, ids := range got {
		b.t.Errorf("group %s: %d events of key %s are not in the log", b.group, len(ids), key)
	}
}

// newPlaces are ways of bringing a database into another cluster.
var newPlaces = map[string]func(*testing.T, *store, *harness.Postgres) *store{
	"dump": restore,
	"copy": func(t *testing.T, a *store, pg *harness.Postgres) *store { return replicate(t, a, pg, false) },
	"copy by transaction": func(t *testing.T, a *store, pg *harness.Postgres) *store {
		return replicate(t, a, pg, true)
	},
}

// TestRebase brings a database into another cluster, whose transaction ids are lower or higher
// than the old ones, in each way, and drains what is left there: nothing is lost, and nothing
// goes out again.
func TestRebase(t *testing.T) {
	t.Parallel()
	lower, higher := outboxtest.NewCluster(t, harness.PostgresOptions{}), outboxtest.NewCluster(t, harness.PostgresOptions{})
	for name, bring := range newPlaces {
		for which, pg := range map[string]*harness.Postgres{"lower ids": lower, "higher ids": higher} {
			t.Run(name+" to "+which, func(t *testing.T) {
				t.Parallel()
				a := open(t, outboxtest.NewDatabase(t).URL)
				a.burn(20_000)
				open(t, higher.URL("postgres")).burn(60_000)
				h := live(t, a)
				b := bring(t, a, pg)
				h.main.refuses(b)
				native := []string{"key-1", "key-1", "late", "native", "native", "native"}
				b.stageHere(native...)

				plan, err := rebase.MakePlan(t.Context(), b.pool, rebase.Config{})
				if err != nil {
					t.Fatal(err)
				}
				if !plan.Needed || plan.Stored == plan.Actual || plan.Held != 30 || len(plan.Groups) != 2 || plan.Uncertain > int64(len(native)) {
					t.Errorf("plan %+v", plan)
				}
				if g := plan.Groups[0]; g.Name != "default" || g.Drained != h.drained || g.Undrained != h.undrained+int64(len(native)) {
					t.Errorf("group %s has %d drained and %d undrained events, want %d and %d", g.Name, g.Drained, g.Undrained, h.drained, h.undrained+int64(len(native)))
				}
				if g := plan.Groups[1]; g.Name != "mirror" || g.Drained != 304 || g.Drained+g.Undrained != h.drained+h.undrained+int64(len(native)) {
					t.Errorf("group %s has %d drained and %d undrained events", g.Name, g.Drained, g.Undrained)
				}
				before := one[int64](b, "SELECT last_value FROM outbox.event_outbox_seq")
				done := rebased(t, b)
				if done.Groups[0].Undrained != plan.Groups[0].Undrained || done.Uncertain != plan.Uncertain {
					t.Errorf("the plan was %+v, and done was %+v", plan, done)
				}
				if after := one[int64](b, "SELECT last_value FROM outbox.event_outbox_seq"); after < before || after < plan.Highest {
					t.Errorf("the sequence went from %d to %d, and %d is in use", before, after, plan.Highest)
				}
				if _, err := rebase.Apply(t.Context(), b.pool, rebase.Config{}); !errors.Is(err, rebase.ErrNothingToDo) {
					t.Errorf("a second rebase said %v", err)
				}
				if n := one[int](b, "SELECT count(*) FROM outbox.event_outbox WHERE tx IS NULL"); n != 30 {
					t.Errorf("%d events are held, want 30", n)
				}
				h.drains(t, b)
				t.Logf("%d drained, %d undrained, %d staged here, %d uncertain, %d renumbered",
					h.drained, h.undrained, plan.StagedHere, plan.Uncertain, plan.Renumbered)
			})
		}
	}
}
