package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/e2e/fault"
	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/outbox/wire"
)

// bench is a publisher of one kind, a server and a proxy between them.
type bench struct {
	t     *testing.T
	kind  PublisherKind
	proxy *fault.NATSProxy
	nc    *nats.Conn // of the publisher
	admin jetstream.JetStream
	pub   *fastPublisher

	ackTimeout time.Duration
}

const (
	benchStream = "EVENTS"
	generous    = 60 * time.Second
	// How long a publisher waits for an answer: where there is one, and where there may be none.
	patient, impatient = 30 * time.Second, time.Second
)

// eachPublisher runs a test with both publishers.
func eachPublisher(t *testing.T, ackTimeout time.Duration, test func(*testing.T, *bench)) {
	t.Parallel()
	for _, kind := range []PublisherKind{PublisherAsync, PublisherFast} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			test(t, newBench(t, kind, ackTimeout, outboxtest.NewNATS(t)))
		})
	}
}

func newBench(t *testing.T, kind PublisherKind, ackTimeout time.Duration, n *harness.NATS, login ...nats.Option) *bench {
	t.Helper()
	b := &bench{t: t, kind: kind, ackTimeout: ackTimeout}
	var err error
	if b.proxy, err = fault.NewNATSProxy(n.URL()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.proxy.Close() })
	b.admin = b.dial(n.URL(), login...)
	b.createStream(jetstream.StreamConfig{})
	b.nc = b.dial(b.proxy.URL(), append(NATSOptions("publisher"), login...)...).Conn()
	b.pub = b.publisher(Config{})
	return b
}

func (b *bench) dial(url string, options ...nats.Option) jetstream.JetStream {
	b.t.Helper()
	nc, err := nats.Connect(url, options...)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		b.t.Fatal(err)
	}
	return js
}

// createStream makes the stream, which allows batches.
func (b *bench) createStream(cfg jetstream.StreamConfig) {
	b.t.Helper()
	cfg.Name, cfg.Subjects, cfg.AllowBatchPublish = benchStream, []string{"events.>"}, true
	if _, err := b.admin.CreateStream(b.t.Context(), cfg); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) publisher(cfg Config) *fastPublisher {
	b.t.Helper()
	setDefault(&cfg.Stream, benchStream)
	cfg.AckTimeout = b.ackTimeout
	cfg = cfg.withDefaults()
	async, err := newAsyncPublisher(b.nc, cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	p := newFastPublisher(async, b.kind, b.ackTimeout, slog.New(slog.DiscardHandler))
	b.t.Cleanup(p.waiting.Wait)
	b.learn(p)
	return p
}

func (b *bench) learn(p *fastPublisher) {
	b.t.Helper()
	stream, err := b.admin.Stream(b.t.Context(), p.stream)
	if err != nil {
		b.t.Fatal(err)
	}
	p.learn(&stream.CachedInfo().Config)
}

// batch makes n events of three keys, one in four without a key.
func (b *bench) batch(n int) *batch {
	events := make([]event, n)
	for i := range events {
		key := []string{"a", "b", "c", ""}[i%4]
		events[i] = event{seq: int64(i + 1), Record: outbox.Record{ID: uuid.NewString(), Source: "/test", Type: "test.happened",
			Time: time.Now().UTC(), DataContentType: "text/plain", PartitionKey: key, Data: fmt.Append(nil, i)}}
	}
	list := &batch{events: events}
	list.link()
	return list
}

// untilStored attempts until nothing is open, as a lane does, and returns the first failure.
func (b *bench) untilStored(list *batch) (first failure) {
	b.t.Helper()
	deadline := time.Now().Add(generous)
	for n := 0; ; n++ {
		fail := b.pub.attempt(b.t.Context(), list)
		list.again = true
		if n == 0 {
			first = fail
		}
		if fail.class == "" {
			return first
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("not stored in time: %s: %v", fail.class, fail.err)
		}
		for b.nc.Status() != nats.CONNECTED && time.Now().Before(deadline) {
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// wantInStream compares the stream with batches: each event that is not left to wait once, and those of a key in order.
func (b *bench) wantInStream(lists ...*batch) {
	b.t.Helper()
	want := map[string]*event{}
	for _, list := range lists {
		for i := range list.events {
			if e := &list.events[i]; !e.waits() {
				want[wire.MsgID(e.Source, e.ID)] = e
			}
		}
	}
	stream, err := b.admin.Stream(b.t.Context(), benchStream)
	if err != nil {
		b.t.Fatal(err)
	}
	state := stream.CachedInfo().State
	last := map[string]int64{}
	for seq := max(1, state.FirstSeq); seq <= state.LastSeq; seq++ {
		m, err := stream.GetMsg(b.t.Context(), seq)
		if err != nil {
			b.t.Fatal(err)
		}
		id := m.Header.Get(nats.MsgIdHdr)
		e, ok := want[id]
		if !ok {
			b.t.Errorf("stream sequence %d: %s is there twice, or should not be there", seq, id)
			continue
		}
		delete(want, id)
		if e.PartitionKey != "" {
			if e.seq <= last[e.PartitionKey] {
				b.t.Errorf("stream sequence %d: key %s: event %d after %d", seq, e.PartitionKey, e.seq, last[e.PartitionKey])
			}
			last[e.PartitionKey] = e.seq
		}
	}
	if len(want) > 0 {
		b.t.Errorf("%d events are missing", len(want))
	}
}

// wantFast checks how many batches were acknowledged as a whole; with async it is none.
func (b *bench) wantFast(n int64) {
	b.t.Helper()
	if b.kind == PublisherAsync {
		n = 0
	}
	if got := b.pub.batches.Load(); got != n {
		b.t.Errorf("%d batches were acknowledged as a whole, want %d", got, n)
	}
}

func (b *bench) wantStored(list *batch) {
	b.t.Helper()
	if fail := b.pub.attempt(b.t.Context(), list); fail.class != "" {
		b.t.Fatalf("%s: %v", fail.class, fail.err)
	}
	if n := list.open(); n != 0 {
		b.t.Errorf("%d events are open without a failure", n)
	}
}

// untilFailed attempts until the failure is of one of the classes: on a busy machine no answer may come in time.
func (b *bench) untilFailed(list *batch, want ...Class) {
	b.t.Helper()
	deadline := time.Now().Add(generous)
	for {
		fail := b.pub.attempt(b.t.Context(), list)
		list.again = true
		switch {
		case slices.Contains(want, fail.class):
			return
		case fail.class != Unknown || time.Now().After(deadline):
			b.t.Fatalf("class %q (%v), want one of %v", fail.class, fail.err, want)
		}
	}
}

func msgID(e *event) string { return wire.MsgID(e.Source, e.ID) }

func TestPublisherStoresInOrder(t *testing.T) {
	eachPublisher(t, patient, func(t *testing.T, b *bench) {
		one, two := b.batch(100), b.batch(1000)
		b.wantStored(one)
		two.floor = 101
		b.wantStored(two)
		b.wantInStream(one, shifted(two, 100))
		b.wantFast(2)
		if first, last := one.streamRange(); first != 1 || last != 100 {
			t.Errorf("stream range is %d to %d, want 1 to 100", first, last)
		}
		if first, last := two.streamRange(); first != 101 || last != 1100 {
			t.Errorf("stream range is %d to %d, want 101 to 1100", first, last)
		}
	})
}

// shifted gives the events of a later batch later numbers, so that the order of keys can be checked over both.
func shifted(list *batch, by int64) *batch {
	for i := range list.events {
		list.events[i].seq += by
	}
	return list
}

func TestPublisherSendsFewEventsOneByOne(t *testing.T) {
	eachPublisher(t, patient, func(t *testing.T, b *bench) {
		var lists []*batch
		for n := 1; n < minFastBatch; n++ {
			lists = append(lists, shifted(b.batch(n), int64(10*n)))
			b.wantStored(lists[n-1])
		}
		b.wantFast(0)
		lists = append(lists, shifted(b.batch(minFastBatch), 100))
		b.wantStored(lists[minFastBatch-1])
		b.wantFast(1)
		b.wantInStream(lists...)
	})
}

// TestPublisherSendsOneByOneWhatMayBeOnItsWay is about copies that no acknowledgement covers: see fastPublisher.
func TestPublisherSendsOneByOneWhatMayBeOnItsWay(t *testing.T) {
	eachPublisher(t, patient, func(t *testing.T, b *bench) {
		list := b.batch(20)
		list.again = true
		b.wantStored(list)
		b.wantInStream(list)
		b.wantFast(0)
	})
}

func TestPublisherTakesDuplicatesAnywhereInABatch(t *testing.T) {
	eachPublisher(t, patient, func(t *testing.T, b *bench) {
		for _, places := range [][]int{{0}, {19}, {9, 10}, {0, 1, 2, 7, 19}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18}} {
			stream, err := b.admin.Stream(t.Context(), benchStream)
			if err == nil {
				err = stream.Purge(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			before := b.pub.batches.Load()
			list := b.batch(20)
			// In the order of the log, as an earlier publication would have left them.
			var some batch
			for i := range list.events {
				for _, n := range places {
					if i == n {
						some.events = append(some.events, event{seq: list.events[i].seq, Record: list.events[i].Record})
					}
				}
			}
			some.link()
			if fail := b.pub.asyncPublisher.attempt(t.Context(), &some); fail.class != "" {
				t.Fatal(fail.err)
			}
			b.wantStored(list)
			if n := b.pub.batches.Load() - before; b.kind == PublisherFast && n != 1 {
				t.Errorf("duplicates at %v: %d batches, want 1", places, n)
			}
			b.wantSet(list)
			if t.Failed() {
				t.Fatalf("with duplicates at %v", places)
			}
		}
	})
}

// wantSet checks that the stream has each event of a batch once.
func (b *bench) wantSet(list *batch) {
	b.t.Helper()
	stream, err := b.admin.Stream(b.t.Context(), benchStream)
	if err != nil {
		b.t.Fatal(err)
	}
	if n := int(stream.CachedInfo().State.Msgs); n != len(list.events) || list.open() != 0 {
		b.t.Errorf("the stream has %d messages and %d events are open, want %d and none", n, list.open(), len(list.events))
	}
}

func TestPublisherTakesABatchOfDuplicates(t *testing.T) {
	eachPublisher(t, patient, func(t *testing.T, b *bench) {
		list := b.batch(40)
		b.wantStored(list)
		for i := range list.events {
			list.events[i].streamSeq = 0
		}
		list.whole = false
		b.wantStored(list)
		b.wantInStream(list)
		places := map[uint64]bool{}
		for i := range list.events {
			places[list.events[i].streamSeq] = true
		}
		if len(places) != len(list.events) {
			t.Errorf("%d events are at %d places: a batch of duplicates proves each alone", len(list.events), len(places))
		}
		b.wantFast(1)
	})
}

func TestPublisherSurvivesTheLossOfAcknowledgements(t *testing.T) {
	for name, action := range map[string]fault.NATSAction{"swallowed": fault.Swallow(), "cut": fault.Cut()} {
		for _, place := range []int{0, 30, 59} {
			t.Run(fmt.Sprintf("%s/%d", name, place), func(t *testing.T) {
				eachPublisher(t, impatient, func(t *testing.T, b *bench) {
					list := b.batch(60)
					rule := b.proxy.Add(fault.NATSRule{Match: fault.AtID(fault.OnAck, msgID(&list.events[place])), Times: 1, Do: action})
					b.untilStored(list)
					b.wantInStream(list)
					if place != 30 && rule.Hits() == 0 { // a batch has no answer in its middle
						t.Error("the rule has not acted")
					}
				})
			})
		}
	}
}

func TestPublisherSurvivesTheLossOfPublications(t *testing.T) {
	for name, action := range map[string]fault.NATSAction{"swallowed": fault.Swallow(), "cut": fault.Cut(), "twice": fault.Duplicate(1)} {
		for _, place := range []int{0, 30, 59} {
			t.Run(fmt.Sprintf("%s/%d", name, place), func(t *testing.T) {
				eachPublisher(t, impatient, func(t *testing.T, b *bench) {
					list := b.batch(60)
					rule := b.proxy.Add(fault.NATSRule{Match: fault.AtID(fault.OnPublication, msgID(&list.events[place])), Times: 1, Do: action})
					b.untilStored(list)
					b.wantInStream(list)
					if rule.Hits() != 1 {
						t.Errorf("the rule has acted %d times", rule.Hits())
					}
				})
			})
		}
	}
}

func TestPublisherRefusesALargeEventAlone(t *testing.T) {
	for _, place := range []int{0, 30, 59} {
		for _, c := range []struct {
			name  string
			limit func(*bench)
		}{
			{"max_payload", func(*bench) {}},
			{"stream", func(b *bench) { b.limitMessages(); b.learn(b.pub) }},
			{"stream that changed", func(b *bench) { b.limitMessages() }},
		} {
			t.Run(fmt.Sprintf("%s/%d", c.name, place), func(t *testing.T) {
				eachPublisher(t, impatient, func(t *testing.T, b *bench) {
					c.limit(b)
					list := b.batch(60)
					large := &list.events[place]
					large.Data = []byte(strings.Repeat("x", 10_000))
					if c.name == "max_payload" {
						large.Data = make([]byte, 1<<20)
					}
					b.untilStored(list)
					for i := range list.events {
						e := &list.events[i]
						behind := i > place && e.PartitionKey == large.PartitionKey && large.PartitionKey != ""
						if (e.refused != nil) != (i == place) || e.parked != behind || (e.streamSeq != 0) == e.waits() {
							t.Errorf("event %d: refused %v, parked %v, sequence %d", i, e.refused, e.parked, e.streamSeq)
						}
					}
					b.wantInStream(list)
				})
			})
		}
	}
}

func (b *bench) limitMessages() {
	b.t.Helper()
	_, err := b.admin.UpdateStream(b.t.Context(), jetstream.StreamConfig{Name: benchStream, Subjects: []string{"events.>"}, AllowBatchPublish: true, MaxMsgSize: 5000})
	if err != nil {
		b.t.Fatal(err)
	}
}

func TestPublisherWaitsForTheBroker(t *testing.T) {
	deny := &server.Permissions{Publish: &server.SubjectPermission{Deny: []string{"events.>"}}}
	for _, c := range []struct {
		name    string
		trouble func(*bench)
		mend    func(*bench)
		class   []Class
	}{
		{"stream deleted", func(b *bench) {
			if err := b.admin.DeleteStream(b.t.Context(), benchStream); err != nil {
				b.t.Fatal(err)
			}
		}, func(b *bench) { b.createStream(jetstream.StreamConfig{}) }, []Class{Unavailable}},
		{"stream full", func(b *bench) { b.maxMessages(20) }, func(b *bench) { b.maxMessages(-1) }, []Class{Unavailable}},
		{"no leader", nil, nil, []Class{Unavailable}},
		{"disconnected", func(b *bench) {
			b.proxy.AddLink(fault.LinkRule{Fault: fault.Refuse})
			b.proxy.CutAll()
		}, nil, []Class{Unavailable, Unknown}},
		{"permission", nil, nil, []Class{Unknown, Unavailable}},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachPublisherOn(t, c.name == "permission", deny, func(t *testing.T, b *bench) {
				list := b.batch(60)
				if c.name == "no leader" {
					b.proxy.Add(fault.NATSRule{Match: fault.At(fault.OnPublication), Do: fault.Answer(fault.NoResponders())})
				} else if c.trouble != nil {
					c.trouble(b)
				}
				b.untilFailed(list, c.class...)
				for i := range list.events {
					if e := &list.events[i]; e.waits() {
						b.t.Errorf("event %d counts as refused: an outage is not poison", i)
					}
				}
				if list.open() == 0 {
					b.t.Error("nothing is open")
				}
				if c.mend != nil {
					c.mend(b)
					b.untilStored(list)
					b.wantSet(list)
				}
			})
		})
	}
}

// eachPublisherOn is eachPublisher with a user that has no rights to publish if denied says so.
func eachPublisherOn(t *testing.T, denied bool, rights *server.Permissions, test func(*testing.T, *bench)) {
	if !denied {
		eachPublisher(t, impatient, test)
		return
	}
	t.Parallel()
	for _, kind := range []PublisherKind{PublisherAsync, PublisherFast} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			n := outboxtest.NewNATS(t, func(o *harness.NATSOptions) {
				o.Configure = func(s *server.Options) {
					s.Users = []*server.User{{Username: "relay", Password: "relay", Permissions: rights}}
				}
			})
			test(t, newBench(t, kind, impatient, n, nats.UserInfo("relay", "relay")))
		})
	}
}

func (b *bench) maxMessages(n int64) {
	b.t.Helper()
	_, err := b.admin.UpdateStream(b.t.Context(), jetstream.StreamConfig{Name: benchStream, Subjects: []string{"events.>"},
		AllowBatchPublish: true, MaxMsgs: n, Discard: jetstream.DiscardNew})
	if err != nil {
		b.t.Fatal(err)
	}
}

func TestPublisherDemandsTheExpectedStream(t *testing.T) {
	eachPublisher(t, patient, func(t *testing.T, b *bench) {
		if _, err := b.admin.CreateStream(t.Context(), jetstream.StreamConfig{Name: "OTHER", Subjects: []string{"other.>"}, AllowBatchPublish: true}); err != nil {
			t.Fatal(err)
		}
		b.pub = b.publisher(Config{Stream: "OTHER"}) // whose subjects are those of EVENTS
		list := b.batch(60)
		b.untilFailed(list, Unavailable)
		if n := list.stored(); n != 0 {
			t.Errorf("%d events count as stored", n)
		}
		b.wantInStream()
	})
}

func TestPublisherEndsWithItsContext(t *testing.T) {
	eachPublisher(t, impatient, func(t *testing.T, b *bench) {
		rule := b.proxy.Add(fault.NATSRule{Match: fault.At(fault.OnAck), Do: fault.Swallow()})
		ctx, cancel := context.WithCancelCause(t.Context())
		lost := errors.New("the lane is lost")
		ended := make(chan failure)
		list := b.batch(60)
		go func() { ended <- b.pub.attempt(ctx, list) }()
		select {
		case <-rule.Hit():
		case <-time.After(generous):
			t.Fatal("nothing was published")
		}
		cancel(lost)
		select {
		case fail := <-ended:
			if fail.class != Unknown {
				t.Errorf("class %q (%v), want unknown", fail.class, fail.err)
			}
		case <-time.After(generous):
			t.Fatal("the attempt goes on")
		}
		rule.Remove()
		b.untilStored(list)
		b.wantInStream(list)
	})
}
