package replay_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/outbox/wire"
	"github.com/holdfast-dev/holdfast/relay"
	"github.com/holdfast-dev/holdfast/relay/internal/position"
	"github.com/holdfast-dev/holdfast/relay/internal/records"
	"github.com/holdfast-dev/holdfast/relay/reconcile"
	"github.com/holdfast-dev/holdfast/relay/replay"
	"github.com/holdfast-dev/holdfast/relay/retry"
)

// TestReplay publishes everything once more, in order, and a comparison explains it.
func TestReplay(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	for key := range 4 {
		s.stage("test.happened", fmt.Sprint("key-", key), 300)
	}
	s.stage("test.happened", "", 100)
	s.drain()
	cfg := replay.Config{Relay: s.config(), Since: hourAgo(), Epoch: 7}
	plan, err := replay.MakePlan(t.Context(), s.db.Pool, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if plan.Events != 1300 || plan.Bytes == 0 || plan.Held != 0 || plan.OnTheirWay != 0 || plan.Subjects != "events.>" || plan.Oldest.After(plan.Newest) {
		t.Errorf("plan %+v", plan)
	}
	if n := len(s.messages(streamName)); n != 1300 {
		t.Errorf("a plan published: the stream has %d messages", n)
	}
	var progress []int64
	result := s.replays(func(c *replay.Config) {
		c.Epoch = 7
		c.Progress = func(r replay.Result) { progress = append(progress, r.Published) }
	})
	if result.Published != 1300 || result.Refused != 0 || result.Epoch != 7 || result.Last != 1300 {
		t.Errorf("result %+v", result)
	}
	if diff := cmp.Diff([]int64{500, 1000, 1300}, progress); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	list := s.messages(streamName)
	if len(list) != 2600 {
		t.Errorf("the stream has %d messages", len(list))
	}
	for key := range 4 {
		name := fmt.Sprint("key-", key)
		if first, second := events(list, name, false), events(list, name, true); !slices.Equal(first, second) || len(first) != 300 {
			t.Errorf("key %s: %d events, %d replayed, or another order", name, len(first), len(second))
		}
	}
	for _, m := range list[1300:] {
		if m.id != wire.MsgID("/test", m.event)+".r7" || m.subject != "events.test.happened" {
			t.Fatalf("message %+v", m)
		}
	}

	// Under its epoch it publishes nothing twice, under another one it does.
	s.replays(func(c *replay.Config) { c.Epoch = 7 })
	if n := len(s.messages(streamName)); n != 2600 {
		t.Errorf("the stream has %d messages after a repetition", n)
	}
	s.replays(func(c *replay.Config) { c.Epoch, c.Key = 8, "key-1" })
	r, err := reconcile.Run(t.Context(), s.db.Pool, s.nc, reconcile.Config{Relay: s.config()})
	if err != nil || r.Unexplained() != 0 || r.Counts[reconcile.Replayed] != 1600 || r.Present != 1300 {
		t.Errorf("a comparison found %+v, %v", r, err)
	}
}

// TestOtherPrefix replays into another stream, in parts.
func TestOtherPrefix(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	if _, err := s.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "AGAIN", Subjects: []string{"again.>"}}); err != nil {
		t.Fatal(err)
	}
	s.stage("order.placed", "a", 10)
	s.stage("order.paid", "a", 10)
	middle := query[time.Time](s, "SELECT clock_timestamp()")
	s.stage("order.placed", "b", 10)
	s.drain()
	into := func(c *replay.Config) { c.Relay.Stream, c.Prefix, c.Epoch = "AGAIN", "again", 1 }
	for name, c := range map[string]struct {
		change func(*replay.Config)
		want   int64
	}{
		"type":          {func(c *replay.Config) { c.Type = "order.paid" }, 10},
		"key":           {func(c *replay.Config) { c.Key = "b" }, 10},
		"both":          {func(c *replay.Config) { c.Key, c.Type = "b", "order.paid" }, 0},
		"since":         {func(c *replay.Config) { c.Since = middle }, 10},
		"until":         {func(c *replay.Config) { c.Until = middle }, 20},
		"limit":         {func(c *replay.Config) { c.Limit = 7 }, 7},
		"limit of key":  {func(c *replay.Config) { c.Limit, c.Key = 17, "a" }, 17},
		"large limit":   {func(c *replay.Config) { c.Limit = 1000 }, 30},
		"after":         {func(c *replay.Config) { c.After = 25 }, 5},
		"nothing there": {func(c *replay.Config) { c.After = 30 }, 0},
	} {
		cfg := replay.Config{Relay: s.config(), Since: hourAgo()}
		into(&cfg)
		c.change(&cfg)
		plan, err := replay.MakePlan(t.Context(), s.db.Pool, cfg)
		if err != nil || plan.Events != c.want || plan.Subjects != "again.>" || plan.Stream != "AGAIN" {
			t.Errorf("%s: plan %+v, %v", name, plan, err)
		}
		if result := s.replays(into, c.change, func(c *replay.Config) { c.Epoch = time.Now().UnixNano() }); result.Published != c.want {
			t.Errorf("%s: %d replayed, want %d", name, result.Published, c.want)
		}
	}
	list := s.messages("AGAIN")
	if len(list) != 109 || len(s.messages(streamName)) != 30 {
		t.Errorf("%d messages in the other stream, %d in the first", len(list), len(s.messages(streamName)))
	}
	for _, m := range list {
		if !strings.HasPrefix(m.subject, "again.order.") || !m.replayed {
			t.Fatalf("message %+v", m)
		}
	}
}

// TestNeverReplayed: what is held or on its way stays out, and goes out once.
func TestNeverReplayed(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	limit := jetstream.StreamConfig{Name: streamName, Subjects: []string{"events.>"}, MaxMsgSize: 4096}
	if _, err := s.js.UpdateStream(t.Context(), limit); err != nil {
		t.Fatal(err)
	}
	large := "SELECT outbox.publish_text('/test', 'large', repeat('x', 10000), partitionkey => $1)"
	s.stage("t", "a", 5)
	s.exec(large, "dead")
	s.exec(large, "discarded")
	stop := s.start(func(c *relay.Config) {
		c.Retry = retry.Policy{MaxRetries: 1, Initial: 10 * time.Millisecond, Max: 20 * time.Millisecond}
	})
	s.eventually("two events are given up", func() bool { return query[int](s, "SELECT count(*) FROM outbox.outbox_dead_letter") == 2 })
	stop()
	s.exec("SELECT outbox.dead_letter_discard('default', ARRAY[(SELECT id FROM outbox.outbox_dead_letter WHERE partition_key = 'discarded')], 'test', 'not needed')")
	s.exec(large, "waits")
	s.stage("t", "waits", 3)
	stop = s.start(func(c *relay.Config) {
		c.Retry = retry.Policy{MaxRetries: 9, Initial: time.Hour, Max: time.Hour}
	})
	s.eventually("a key waits", func() bool { return query[int](s, "SELECT count(*) FROM outbox.outbox_retry") == 4 })
	stop()
	s.exec("SELECT outbox.hold_register('0190b0c4-7d1e-7c1e-8a44-5a3c2c1f9d10', 1, 'test')")
	s.exec("SELECT outbox.publish_held_text('0190b0c4-7d1e-7c1e-8a44-5a3c2c1f9d10', 1, '/test', 't', 'x') FROM generate_series(1, 6)")
	s.stage("t", "undrained", 7)

	plan, err := replay.MakePlan(t.Context(), s.db.Pool, replay.Config{Relay: s.config(), Since: hourAgo()})
	if err != nil || plan.Events != 5 || plan.Held != 6 || plan.OnTheirWay != 13 {
		t.Errorf("plan %+v, %v", plan, err)
	}
	if r := s.replays(); r.Published != 5 {
		t.Errorf("result %+v", r)
	}
	if got := events(s.messages(streamName), "a", true); len(got) != 5 || len(s.messages(streamName)) != 10 {
		t.Errorf("%d events are replayed", len(got))
	}
	s.drain()
	if n := len(s.messages(streamName)); n != 17 {
		t.Errorf("the stream has %d messages, want 17", n)
	}
}

// TestRefusedEventsAreLeftOut: one that the broker will not have does not stop the others.
func TestRefusedEventsAreLeftOut(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.stage("t", "k", 10)
	s.exec("SELECT outbox.publish_text('/test', 't', repeat('x', 10000), partitionkey => 'k')")
	s.stage("t", "k", 10)
	s.drain()
	if _, err := s.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "SMALL", Subjects: []string{"small.>"}, MaxMsgSize: 4096}); err != nil {
		t.Fatal(err)
	}
	r := s.replays(func(c *replay.Config) { c.Relay.Stream, c.Prefix = "SMALL", "small" })
	if r.Published != 20 || r.Refused != 1 || r.Last != 21 {
		t.Errorf("result %+v", r)
	}
	if n := len(s.messages("SMALL")); n != 20 {
		t.Errorf("%d messages", n)
	}
}

// TestReplaysOneAfterTheOther: each has ids of its own, also within one second.
func TestReplaysOneAfterTheOther(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.stage("t", "k", 10)
	s.drain()
	for range 5 {
		if r := s.replays(); r.Published != 10 {
			t.Errorf("result %+v", r)
		}
	}
	if n := len(s.messages(streamName)); n != 60 {
		t.Errorf("the stream has %d messages, want 60", n)
	}
}

// TestInterrupted: a replay that is stopped goes on where it was.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.stage("t", "k", 1200)
	s.drain()
	ctx, cancel := context.WithCancel(t.Context())
	cfg := replay.Config{Relay: s.config(), Since: hourAgo(), Epoch: 3, Progress: func(replay.Result) { cancel() }}
	first, err := replay.Run(ctx, s.db.Pool, s.nc, cfg)
	if !errors.Is(err, context.Canceled) || first.Published != 500 || first.Last == 0 {
		t.Fatalf("result %+v, %v", first, err)
	}
	second := s.replays(func(c *replay.Config) { c.Epoch, c.After = first.Epoch, first.Last })
	if second.Published != 700 {
		t.Errorf("result %+v", second)
	}
	list := s.messages(streamName)
	if before, after := events(list, "k", false), events(list, "k", true); !slices.Equal(before, after) {
		t.Errorf("%d events, %d replayed, or another order", len(before), len(after))
	}
}

func TestRate(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.stage("t", "k", 40)
	s.drain()
	start := time.Now()
	if r := s.replays(func(c *replay.Config) { c.Rate = 50 }); r.Published != 40 {
		t.Errorf("result %+v", r)
	}
	if took := time.Since(start); took < 790*time.Millisecond {
		t.Errorf("40 events at 50 a second took %s", took)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.stage("t", "k", 5)
	s.drain()
	run := func(change func(*replay.Config)) error {
		cfg := replay.Config{Relay: s.config(), Since: hourAgo()}
		change(&cfg)
		_, err := replay.Run(t.Context(), s.db.Pool, s.nc, cfg)
		return err
	}
	for name, change := range map[string]func(*replay.Config){
		"no since":     func(c *replay.Config) { c.Since = time.Time{} },
		"empty window": func(c *replay.Config) { c.Until = c.Since },
		"no stream":    func(c *replay.Config) { c.Relay.Stream = "" },
		"no prefix":    func(c *replay.Config) { c.Relay.SubjectTemplate, c.Prefix = "all.{type}", "again" },
		"bad prefix":   func(c *replay.Config) { c.Prefix = "a b" },
		"epoch":        func(c *replay.Config) { c.Epoch = -1 },
		"rate":         func(c *replay.Config) { c.Rate = -1 },
		"no number":    func(c *replay.Config) { c.Rate = math.NaN() },
		"no end":       func(c *replay.Config) { c.Rate = math.Inf(1) },
		"limit":        func(c *replay.Config) { c.Limit = -1 },
	} {
		if err := run(change); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if err := run(func(c *replay.Config) { c.Relay.Group = "nobody" }); !errors.Is(err, replay.ErrNoGroup) {
		t.Errorf("no group: %v", err)
	}
	if err := run(func(c *replay.Config) { c.Relay.Stream = "OTHER" }); err == nil {
		t.Error("another stream than the one that has the subjects was accepted")
	}
	s.exec("UPDATE outbox.holdfast_schema SET system_identifier = 42")
	if err := run(func(*replay.Config) {}); !errors.Is(err, outbox.ErrForeignCluster) {
		t.Errorf("another cluster: %v", err)
	}
	if n := len(s.messages(streamName)); n != 5 {
		t.Errorf("the stream has %d messages", n)
	}
}

// TestLargeEvents: a chunk has so many bytes, and not more than that.
func TestLargeEvents(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.exec("SELECT outbox.publish('/test', 't', convert_to(repeat('x', 900000), 'UTF8')) FROM generate_series(1, 25)")
	s.drain()
	var steps []int64
	s.replays(func(c *replay.Config) { c.Progress = func(r replay.Result) { steps = append(steps, r.Published) } })
	if diff := cmp.Diff([]int64{9, 18, 25}, steps); diff != "" {
		t.Errorf("chunks (-want +got):\n%s", diff)
	}
}

func TestStatementsPrepare(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	conn, err := pgx.Connect(t.Context(), db.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context()) //nolint:errcheck // ends with the test
	texts := slices.Concat(position.Statements("outbox"), records.Statements("outbox"))
	for _, sql := range replay.StatementTexts("outbox") {
		texts = append(texts, sql)
	}
	for _, sql := range texts {
		if _, err := conn.Prepare(t.Context(), sql, sql); err != nil || strings.Contains(sql, "{{") {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
