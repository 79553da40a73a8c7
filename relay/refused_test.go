package relay_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/relay/retry"
)

// limitMessages makes the stream refuse messages over a size; -1 ends that.
func (s *setup) limitMessages(bytes int32) {
	s.t.Helper()
	cfg := jetstream.StreamConfig{Name: streamName, Subjects: []string{"events.>"}, MaxMsgSize: bytes}
	if _, err := s.js.UpdateStream(s.t.Context(), cfg); err != nil {
		s.t.Fatalf("limit messages: %v", err)
	}
}

// stageLarge commits one event of a key whose payload has the given size, and returns its id.
func (s *setup) stageLarge(key string, size int) string {
	s.t.Helper()
	return s.stageTogether(large(key, size))[0]
}

// large makes an event of a key whose payload has the given size.
func large(key string, size int) event.Event {
	e := event.New()
	e.SetSource("/test")
	e.SetType("test.happened")
	e.SetExtension("partitionkey", key)
	e.DataEncoded = bytes.Repeat([]byte("x"), size)
	e.SetDataContentType("text/plain")
	return e
}

// ofKey returns the ids of a key, in the order of the stream.
func ofKey(list []message, key string) []string {
	var out []string
	for _, m := range list {
		if m.Extensions()["partitionkey"] == key {
			out = append(out, m.ID())
		}
	}
	return out
}

func TestRefusedEventDelaysOnlyItsKeyAndKeepsItsOrder(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.limitMessages(4096)
	s.start(func(c *relayConfig) {
		c.Retry = retry.Policy{MaxRetries: 100, Initial: 50 * time.Millisecond, Max: 200 * time.Millisecond}
	})
	want := s.stage("poison", 3)
	want = append(want, s.stageLarge("poison", 10_000))
	want = append(want, s.stage("poison", 3)...) // in the same batch, or in a later one
	others := 2000
	s.stage("", others)
	s.eventually("everything but what waits is in the stream", func() bool { return s.count() == others+3 })
	want = append(want, s.stage("poison", 2)...) // certainly in a later batch
	s.eventually("the later events of the key wait as well", func() bool {
		return query[int64](s, "SELECT count(*) FROM outbox.outbox_retry") == 6
	})
	if got := ofKey(s.inStream(), "poison"); !slices.Equal(got, want[:3]) {
		t.Errorf("the key has %v in the stream, want its first three", got)
	}

	s.limitMessages(-1)
	s.eventually("the key goes on", func() bool { return s.count() == others+len(want) })
	if got := ofKey(s.inStream(), "poison"); !slices.Equal(got, want) {
		t.Errorf("order of the key:\n got %v\nwant %v", got, want)
	}
	s.eventually("nothing waits", func() bool {
		return query[int64](s, "SELECT count(*) FROM outbox.outbox_retry") == 0
	})
	if n := s.settled(); n != int64(others+len(want)) {
		t.Errorf("%d events are settled, want %d", n, others+len(want))
	}
}

func TestEventIsGivenUpAfterItsRetriesAndItsKeyGoesOn(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.limitMessages(4096)
	p := s.start(func(c *relayConfig) {
		c.Retry = retry.Policy{MaxRetries: 3, Initial: 10 * time.Millisecond, Max: 20 * time.Millisecond}
	})
	poison := s.stageLarge("k", 10_000)
	rest := s.stage("k", 5)
	s.eventually("the key goes on", func() bool { return s.count() == len(rest) })
	if got := ofKey(s.inStream(), "k"); !slices.Equal(got, rest) {
		t.Errorf("the key has %v, want %v", got, rest)
	}
	row := query[string](s, "SELECT event_id || ' ' || reason_code || ' ' || attempts || ' ' || octet_length(data) FROM outbox.outbox_dead_letter")
	if want := poison + " message_too_large 4 10000"; row != want {
		t.Errorf("dead letter %q, want %q", row, want)
	}
	if !strings.Contains(p.logs.String(), "gave up an event") || strings.Contains(p.logs.String(), "xxxx") {
		t.Errorf("log:\n%s", p.logs)
	}
}

func TestDeadLetterBlocksItsKeyWhenAsked(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.limitMessages(4096)
	s.start(func(c *relayConfig) {
		c.Retry = retry.Policy{MaxRetries: 1, Initial: 10 * time.Millisecond, Max: 20 * time.Millisecond}
		c.DeadLetterBlocksKey = true
	})
	s.stageLarge("k", 10_000)
	s.stage("k", 2)
	s.eventually("the event is given up", func() bool {
		return query[int64](s, "SELECT count(*) FROM outbox.outbox_dead_letter") == 1
	})
	s.stage("k", 1)
	s.stage("other", 4)
	s.eventually("other keys go on, and the blocked one waits", func() bool {
		return s.count() == 4 && query[int64](s, "SELECT count(*) FROM outbox.outbox_retry") == 3
	})
	store, err := retry.New(s.db.Pool, retry.Config{DeadLetterBlocksKey: true})
	if err != nil {
		t.Fatal(err)
	}
	list, err := store.List(t.Context(), retry.Filter{})
	if err != nil || len(list) != 1 {
		t.Fatalf("dead letters %v (%v)", list, err)
	}
	if _, err := store.Discard(t.Context(), []int64{list[0].ID}, "test", "not needed"); err != nil {
		t.Fatal(err)
	}
	s.eventually("the key goes on after the discard", func() bool { return s.count() == 7 })
}

// TestHotKeyCatchesUpAfterARefusal: what waits behind a refused event leaves as fast as it can be
// published, and not one event a retry pause.
func TestHotKeyCatchesUpAfterARefusal(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.limitMessages(4096)
	s.start(func(c *relayConfig) {
		c.Retry = retry.Policy{MaxRetries: 100, Initial: time.Second, Max: time.Second}
	})
	want := []string{s.stageLarge("hot", 10_000)}
	want = append(want, s.stage("hot", 200)...)
	s.eventually("all of the key wait", func() bool {
		return query[int64](s, "SELECT count(*) FROM outbox.outbox_retry") == int64(len(want))
	})
	s.limitMessages(-1)
	s.eventually("the key has caught up", func() bool { return s.count() == len(want) })
	if got := ofKey(s.inStream(), "hot"); !slices.Equal(got, want) {
		t.Errorf("order of the key:\n got %v\nwant %v", got, want)
	}
}

// TestRetryThatCannotBeRecordedStopsNoOther: the outcome of one waiting event is out of bounds, and those
// behind it in the same claim are recorded all the same.
func TestRetryThatCannotBeRecordedStopsNoOther(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.limitMessages(4096)
	p := s.start(func(c *relayConfig) {
		c.Retry = retry.Policy{MaxRetries: 1000, Initial: time.Hour, Max: time.Hour}
	})
	first, second := s.stageLarge("a", 10_000), s.stageLarge("b", 10_000)
	s.eventually("both wait", func() bool { return query[int64](s, "SELECT count(*) FROM outbox.outbox_retry") == 2 })
	s.exec(`UPDATE outbox.outbox_retry SET attempts = CASE event_id WHEN $1 THEN 2147483647 ELSE 1 END,
		next_visible_at = now() - CASE event_id WHEN $1 THEN interval '2 min' ELSE interval '1 min' END`, first)
	s.eventually("the second attempt of the other is counted", func() bool {
		return query[int32](s, "SELECT attempts FROM outbox.outbox_retry WHERE event_id = $1", second) == 2
	})
	if n := query[int32](s, "SELECT attempts FROM outbox.outbox_retry WHERE event_id = $1", first); n != 2147483647 {
		t.Errorf("attempts of the first are %d", n)
	}
	s.eventually("the log names the event", func() bool { return strings.Contains(p.logs.String(), first) })
}
