package reconcile_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/outbox/wire"
	"github.com/holdfast-dev/holdfast/relay"
	"github.com/holdfast-dev/holdfast/relay/reconcile"
	"github.com/holdfast-dev/holdfast/relay/retry"
)

// TestSoundStream: with both modes in one stream, events of every shape, and everything that is not
// expected there, nothing is found.
func TestSoundStream(t *testing.T) {
	t.Parallel()
	s := newSetup(t, func(c *jetstream.StreamConfig) { c.MaxMsgSize = 8192 })
	s.stage("a", 50)
	s.stage("", 50)
	s.exec(`SELECT outbox.publish('/shop?x=ü%20"1"', 'plain', NULL), outbox.publish('/shop', 'bytes', '\x00ff', subject => 'ä b',
		dataschema => 'https://example.com/s', datacontenttype => 'text/plain; charset=utf-8', extensions => '{"flag":true,"n":-5,"text":"a % \"b\""}'),
		outbox.publish_text('/shop', 'same', 'x', id => 'twice')`)
	s.drain()
	s.stage("b", 50)
	s.exec(`SELECT outbox.publish_text('/shop', 'text', '{"a": 1}', extensions => '{"flag":true,"n":-5}'), outbox.publish_text('/shop', 'same', 'x', id => 'twice')`)
	s.drain(func(c *relay.Config) { c.Mode = wire.Structured })

	quick := func(c *relay.Config) {
		c.Retry = retry.Policy{MaxRetries: 1, Initial: 10 * time.Millisecond, Max: 20 * time.Millisecond}
	}
	large := "SELECT outbox.publish_text('/shop', 'large', repeat('x', 20000), partitionkey => $1)"
	s.exec(large, "dead")
	s.exec(large, "discarded")
	stop := s.start(quick)
	s.eventually("two events are given up", func() bool { return query[int](s, "SELECT count(*) FROM outbox.outbox_dead_letter") == 2 })
	stop()
	s.exec("SELECT outbox.dead_letter_discard('default', ARRAY[(SELECT id FROM outbox.outbox_dead_letter WHERE partition_key = 'discarded')], 'test', 'not needed')")
	s.exec(large, "waits")
	s.stage("waits", 3)
	stop = s.start(func(c *relay.Config) {
		c.Retry = retry.Policy{MaxRetries: 9, Initial: time.Hour, Max: time.Hour}
	})
	s.eventually("a key waits", func() bool { return query[int](s, "SELECT count(*) FROM outbox.outbox_retry") == 4 })
	stop()
	s.hold("held", 5)
	s.stage("undrained", 5)

	r := s.reconcile()
	s.wants(r, counts{})
	if r.Settled != 155 || r.Present != 155 || r.Unexplained() != 0 || r.Regressed || r.Passes != 1 {
		t.Errorf("report %+v", r)
	}
}

// hold stages held events.
func (s *setup) hold(key string, n int) outbox.Hold {
	s.t.Helper()
	h := outbox.Hold{Generation: 1}
	h.Operation[0] = 7
	s.exec("SELECT outbox.hold_register($1, 1, 'test')", h.Operation.String())
	for range n {
		s.exec("SELECT outbox.publish_held_text($1, 1, '/test', 'test.happened', 'x', partitionkey => $2)", h.Operation.String(), key)
	}
	return h
}

// TestDeletedFromTheMiddle: what the broker loses in the middle is found by its ids, put back under
// them, and then explained as late.
func TestDeletedFromTheMiddle(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	for key := range 5 {
		s.stage(fmt.Sprint("key-", key), 60)
	}
	s.drain()
	lost := s.messages()[100:150]
	s.delete(lost...)

	r := s.reconcile(func(c *reconcile.Config) { c.Examples = 100 })
	s.wants(r, counts{reconcile.Missing: 50})
	got := idsOf(r, reconcile.Missing)
	var want []string
	for _, m := range lost {
		want = append(want, m.ID())
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("missing ids (-want +got):\n%s", diff)
	}
	if r.Unexplained() != 50 || r.Repair != nil {
		t.Errorf("report %+v", r)
	}

	s.put() // waits for the window only
	r = s.reconcile(withRepair)
	if diff := cmp.Diff(&reconcile.Repair{Published: 50}, r.Repair); diff != "" || r.Unexplained() != 0 {
		t.Errorf("repair (-want +got):\n%s", diff)
	}
	r = s.reconcile()
	if r.Counts[reconcile.Late] == 0 {
		t.Error("no event is late, though its key had gone on")
	}
	delete(r.Counts, reconcile.Late)
	s.wants(r, counts{})
	if r.Present != 300 || r.Unexplained() != 0 {
		t.Errorf("report %+v", r)
	}
	for _, m := range s.messages()[250:] {
		if !slices.Contains(want, m.ID()) {
			t.Errorf("event %s was published again and was not lost", m.ID())
		}
	}
}

// TestRememberedIDs: while the stream remembers the id of a deleted message, it acknowledges a
// publication and stores nothing. That does not pass for a repair.
func TestRememberedIDs(t *testing.T) {
	t.Parallel()
	s := newSetup(t, func(c *jetstream.StreamConfig) { c.Duplicates = time.Hour })
	s.stage("k", 20)
	s.drain()
	s.delete(s.messages()[5:10]...)
	r := s.reconcile(withRepair)
	s.wants(r, counts{reconcile.Missing: 5})
	if diff := cmp.Diff(&reconcile.Repair{Remembered: 5}, r.Repair); diff != "" || r.Unexplained() != 5 || r.Window != time.Hour {
		t.Errorf("repair (-want +got):\n%s", diff)
	}
}

// TestFindings has one of everything that is wrong, and of what only looks so.
func TestFindings(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{0, 1000} {
		t.Run(fmt.Sprint("entries ", limit), func(t *testing.T) {
			t.Parallel()
			s := newSetup(t)
			s.stage("k", 20)
			s.stage("order", 6)
			s.stage("", 2500)
			s.drain()
			s.hold("held", 1)
			list := s.messages()
			var k, order []stored
			for _, m := range list {
				switch m.Extensions()["partitionkey"] {
				case "k":
					k = append(k, m)
				case "order":
					order = append(order, m)
				}
			}
			s.delete(k[3], k[4], order[2], order[3])
			k[3].msg.Data = []byte(`{"key":"k","n":4711}`)
			k[4].msg.Header.Set("ce-type", "test.altered")
			s.put(k[3].msg, k[4].msg, order[3].msg, order[2].msg, list[len(list)-1].msg, list[len(list)-2].msg)
			s.put(k[19].msg, s.byHand("/test", "foreign"), s.byHand("/elsewhere", "other"), s.heldByHand(),
				&nats.Msg{Subject: "events.junk", Data: []byte("junk")},
				&nats.Msg{Subject: "events.junk", Data: []byte("junk"), Header: nats.Header{nats.MsgIdHdr: {wire.MsgID("/test", "junk")}}},
				&nats.Msg{Subject: "events.junk", Data: []byte("junk"), Header: nats.Header{nats.MsgIdHdr: {k[1].msg.Header.Get(nats.MsgIdHdr) + ".r17"}}},
				&nats.Msg{Subject: "events.junk", Data: []byte("junk"), Header: nats.Header{nats.MsgIdHdr: {"mine.rx"}}})

			r := s.reconcile(func(c *reconcile.Config) { c.MaxEntries, c.Skew = limit, time.Nanosecond })
			s.wants(r, counts{
				reconcile.Changed:    2, // k[3], k[4]
				reconcile.Disordered: 4, // and these two, after the rest of their keys; order[2] and order[3]
				reconcile.Duplicated: 3,
				reconcile.Foreign:    1,
				reconcile.Held:       1,
				reconcile.Other:      4,
				reconcile.Replayed:   1,
			})
			if want := max(1, len(list)*limit/1_000_000); r.Passes < want || r.Present != 2526 || r.Unexplained() != 11 {
				t.Errorf("report %+v", r)
			}
			if got := idsOf(r, reconcile.Foreign); !slices.Equal(got, []string{"foreign"}) {
				t.Errorf("foreign: %v", got)
			}
			for _, e := range r.Examples {
				inLog := e.Class.Unexplained() && e.Class != reconcile.Foreign
				if e.MessageID == "" && e.Class != reconcile.Other || inLog != (e.Seq != 0) || e.StreamSeq == 0 {
					t.Errorf("example %+v", e)
				}
			}
		})
	}
}

// byHand is an event that the log does not have.
func (s *setup) byHand(source, id string) *nats.Msg {
	s.t.Helper()
	encoder, err := wire.NewEncoder(wire.Config{})
	if err != nil {
		s.t.Fatal(err)
	}
	m, err := encoder.Encode(&outbox.Record{ID: id, Source: source, Type: "test.happened", PartitionKey: "held"})
	if err != nil {
		s.t.Fatal(err)
	}
	return m
}

// heldByHand is the event that is held.
func (s *setup) heldByHand() *nats.Msg {
	return s.byHand("/test", query[string](s, "SELECT event_id FROM outbox.event_outbox WHERE tx IS NULL"))
}

// TestWindow: a released event belongs to the time of its release.
func TestWindow(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.stage("k", 10)
	h := s.hold("k", 5)
	s.drain()
	middle := query[time.Time](s, "SELECT clock_timestamp()")
	s.stage("k", 20)
	s.exec("SELECT outbox.hold_release($1, 1, 'test')", h.Operation.String())
	s.drain()
	for name, c := range map[string]struct {
		since, until time.Time
		want         int64
	}{
		"all": {want: 35}, "since": {since: middle, want: 25}, "until": {until: middle, want: 10},
		"before": {until: middle.Add(-time.Hour), want: 0}, "after": {since: middle.Add(time.Hour), want: 5}, // nothing dates the released ones
		"around": {since: middle.Add(-time.Hour), until: middle.Add(time.Hour), want: 35},
	} {
		r := s.reconcile(func(c2 *reconcile.Config) { c2.Since, c2.Until = c.since, c.until })
		if s.wants(r, counts{}); r.Settled != c.want || r.Present != c.want {
			t.Errorf("%s: %d settled and %d present events, want %d", name, r.Settled, r.Present, c.want)
		}
	}
	s.delete(s.messages()[:3]...)
	if r := s.reconcile(func(c *reconcile.Config) { c.Since = middle }); r.Counts[reconcile.Missing] != 0 {
		t.Errorf("events from before the window are missing: %+v", r)
	}
}

// TestLimits: what the stream drops by its limits, and the log by retention, is explained.
func TestLimits(t *testing.T) {
	t.Parallel()
	s := newSetup(t, func(c *jetstream.StreamConfig) { c.MaxMsgs = 100 })
	s.stage("", 80)
	s.drain()
	s.stage("", 70)
	s.drain()
	r := s.reconcile()
	s.wants(r, counts{reconcile.Expired: 50})
	s.delete(s.messages()[40])
	r = s.reconcile()
	s.wants(r, counts{reconcile.Expired: 50, reconcile.Missing: 1})

	// Retention empties the slot that these events are in.
	s.exec("UPDATE outbox.event_outbox SET slot = (slot + 2) % 4")
	slot := query[int](s, "SELECT min(slot) FROM outbox.event_outbox")
	s.exec(fmt.Sprintf("TRUNCATE outbox.event_outbox_%d", slot))
	s.stage("", 10)
	s.drain()
	r = s.reconcile(func(c *reconcile.Config) { c.Skew = time.Nanosecond })
	if n := r.Counts[reconcile.Unjudged]; n < 89 || n > 90 || r.Unexplained() != 0 || r.Present != 10 {
		t.Errorf("report %+v", r)
	}
}

func TestNothingToCompare(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	run := func(change func(*reconcile.Config)) error {
		cfg := reconcile.Config{Relay: s.config()}
		change(&cfg)
		_, err := reconcile.Run(t.Context(), s.db.Pool, s.nc, cfg)
		return err
	}
	if err := run(func(c *reconcile.Config) { c.Relay.Group = "nobody" }); !errors.Is(err, reconcile.ErrNoGroup) {
		t.Errorf("no group: %v", err)
	}
	if err := run(func(c *reconcile.Config) { c.Relay.Stream = "NONE" }); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("no stream: %v", err)
	}
	if err := run(func(c *reconcile.Config) { c.Relay.Stream = "" }); err == nil {
		t.Error("no name of a stream was accepted")
	}
	if err := run(func(c *reconcile.Config) { c.Since = time.Now(); c.Until = c.Since }); err == nil {
		t.Error("an empty window was accepted")
	}
	if _, err := s.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "WORK", Subjects: []string{"work.>"}, Retention: jetstream.WorkQueuePolicy}); err != nil {
		t.Fatal(err)
	}
	if err := run(func(c *reconcile.Config) { c.Relay.Stream = "WORK" }); !errors.Is(err, reconcile.ErrConsumedStream) {
		t.Errorf("work queue: %v", err)
	}
	s.exec("UPDATE outbox.holdfast_schema SET system_identifier = 42")
	if err := run(func(*reconcile.Config) {}); !errors.Is(err, outbox.ErrForeignCluster) {
		t.Errorf("another cluster: %v", err)
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
	for name, sql := range reconcile.StatementTexts("outbox") {
		if _, err := conn.Prepare(t.Context(), name, sql); err != nil || strings.Contains(sql, "{{") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
