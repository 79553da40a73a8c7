package relay_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// newSetupWithoutStream is a setup whose broker has no stream.
func newSetupWithoutStream(t *testing.T) *setup {
	t.Helper()
	s := newSetup(t)
	s.deleteStream()
	return s
}

func (s *setup) deleteStream() {
	s.t.Helper()
	if err := s.js.DeleteStream(s.t.Context(), streamName); err != nil {
		s.t.Fatalf("delete stream: %v", err)
	}
}

func (s *setup) createStream(name string, subjects ...string) {
	s.t.Helper()
	const busy = 10049 // "error creating store": what was deleted under that name is being removed
	s.eventually("stream "+name+" is made", func() bool {
		_, err := s.js.CreateStream(s.t.Context(), jetstream.StreamConfig{Name: name, Subjects: subjects})
		var api *jetstream.APIError
		if err != nil && (!errors.As(err, &api) || api.ErrorCode != busy) {
			s.t.Fatalf("create stream: %v", err)
		}
		return err == nil
	})
}

// stageType commits n events of a type and key.
func (s *setup) stageType(eventType, key string, n int) []string {
	s.t.Helper()
	list := events(key, n)
	for i := range list {
		list[i].SetType(eventType)
	}
	return s.stageTogether(list...)
}

func TestRelayWithoutStreamWaitsForOne(t *testing.T) {
	t.Parallel()
	s := newSetupWithoutStream(t)
	s.stage("k", 10)
	s.stage("", 100)
	p := s.start()
	s.eventually("the log says what is missing", func() bool {
		log := p.logs.String()
		return strings.Contains(log, "waiting for the broker") && strings.Contains(log, "relay stream")
	})
	if err := p.Ready(); err == nil {
		t.Error("ready without a stream")
	}
	if n := s.settled(); n != 0 {
		t.Errorf("%d events settled without a stream", n)
	}
	s.createStream(streamName, "events.>")
	s.eventually("ready", func() bool { return p.Ready() == nil })
	s.wantLogInStream()
}

func TestStreamDeletedAndMadeAgain(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	p := s.start(func(c *relayConfig) { c.UnreadyAfter = 100 * time.Millisecond })
	s.stage("k", 10)
	s.eventually("10 events settled", func() bool { return s.settled() == 10 })
	s.deleteStream()
	want := s.stage("k", 10)
	s.eventually("not ready", func() bool { return p.Ready() != nil })
	if n := s.settled(); n != 10 {
		t.Errorf("%d events settled, 10 of them before the stream was deleted", n)
	}
	s.createStream(streamName, "events.>")
	s.eventually("20 events settled", func() bool { return s.settled() == 20 })
	got := ids(s.inStream())
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Fatalf("the new stream has %v, want %v", got, want)
		}
	}
}

// TestSubjectWithoutStreamHoldsUpItsLaneOnly stages an event whose subject no stream has.
func TestSubjectWithoutStreamHoldsUpItsLaneOnly(t *testing.T) {
	t.Parallel()
	s := newSetupWithoutStream(t)
	s.createStream(streamName, "events.test.>")
	p := s.start()
	stray := s.stageType("stray.happened", "stray", 1)
	behind := s.stageType("test.happened", "stray", 1)
	s.stage("", 200)
	lane := query[int16](s, "SELECT lane FROM outbox.event_outbox WHERE event_id = $1", stray[0])
	others := query[int](s, "SELECT count(*) FROM outbox.event_outbox WHERE lane <> $1", lane)
	s.eventually("the other lanes are drained", func() bool { return s.count() >= others && s.settled() >= int64(others) })
	s.eventually("the log has a hint", func() bool {
		log := p.logs.String()
		return strings.Contains(log, "event_id="+stray[0]) && strings.Contains(log, "relay stream plan")
	})
	for _, m := range s.inStream() {
		if m.ID() == behind[0] {
			t.Error("an event overtook an earlier one of its key")
		}
	}
	if _, err := s.js.UpdateStream(t.Context(), jetstream.StreamConfig{Name: streamName, Subjects: []string{"events.>"}}); err != nil {
		t.Fatalf("update stream: %v", err)
	}
	s.wantLogInStream()
}

// TestForeignStreamIsNotTakenForOurs: another stream captures the subjects, so the broker
// would store the events, in the wrong place.
func TestForeignStreamIsNotTakenForOurs(t *testing.T) {
	t.Parallel()
	s := newSetupWithoutStream(t)
	s.createStream("OTHER", "events.>")
	s.createStream(streamName, "elsewhere.>")
	p := s.start()
	s.stage("k", 5)
	s.eventually("the log has a hint", func() bool {
		return strings.Contains(p.logs.String(), "the subject belongs to another stream")
	})
	if n := s.settled(); n != 0 {
		t.Errorf("%d events settled", n)
	}
	if err := s.js.DeleteStream(t.Context(), "OTHER"); err != nil {
		t.Fatalf("delete stream: %v", err)
	}
	if _, err := s.js.UpdateStream(t.Context(), jetstream.StreamConfig{Name: streamName, Subjects: []string{"events.>"}}); err != nil {
		t.Fatalf("update stream: %v", err)
	}
	s.wantLogInStream()
}

// TestFullStreamIsNoReasonToGiveUp fills a stream that refuses what is over its limit.
func TestFullStreamIsNoReasonToGiveUp(t *testing.T) {
	t.Parallel()
	s := newSetupWithoutStream(t)
	full := jetstream.StreamConfig{Name: streamName, Subjects: []string{"events.>"}, MaxMsgs: 20, Discard: jetstream.DiscardNew}
	if _, err := s.js.CreateStream(t.Context(), full); err != nil {
		t.Fatalf("create stream: %v", err)
	}
	p := s.start()
	s.stage("k", 30)
	s.eventually("the log says that it is full", func() bool {
		return strings.Contains(p.logs.String(), "the stream or the server is full")
	})
	if n := s.count(); n != 20 {
		t.Errorf("%d messages, want 20", n)
	}
	full.MaxMsgs = -1
	if _, err := s.js.UpdateStream(t.Context(), full); err != nil {
		t.Fatalf("update stream: %v", err)
	}
	s.wantLogInStream()
	if n := query[int](s, "SELECT count(*) FROM outbox.outbox_retry"); n != 0 {
		t.Errorf("%d rows in outbox_retry", n)
	}
}

// TestRefusedEventKeepsItsKeyInOrder: the middle one of three events of a key is too large for
// the stream. What is behind it waits, other keys go on, and the order holds in the end.
func TestRefusedEventKeepsItsKeyInOrder(t *testing.T) {
	t.Parallel()
	s := newSetupWithoutStream(t)
	small := jetstream.StreamConfig{Name: streamName, Subjects: []string{"events.>"}, MaxMsgSize: 2000}
	if _, err := s.js.CreateStream(t.Context(), small); err != nil {
		t.Fatalf("create stream: %v", err)
	}
	p := s.start()
	list := events("k", 4)
	if err := list[1].SetData("application/octet-stream", make([]byte, 4000)); err != nil {
		t.Fatal(err)
	}
	// One transaction, so one batch: the others could be published before it.
	want := s.stageTogether(append(list, eventsBeside(s, "k", 10)...)...)
	s.eventually("the first of the key and the other keys are in the stream", func() bool { return s.count() == 11 })
	s.eventually("the log names the event", func() bool {
		return strings.Contains(p.logs.String(), "the broker refused an event") && strings.Contains(p.logs.String(), "event_id="+want[1])
	})
	if n := s.count(); n != 11 {
		t.Errorf("%d messages while one is refused, want 11", n)
	}
	small.MaxMsgSize = -1
	if _, err := s.js.UpdateStream(t.Context(), small); err != nil {
		t.Fatalf("update stream: %v", err)
	}
	s.wantLogInStream()
}

// eventsBeside makes n events of n other keys that live in the lane of a key.
func eventsBeside(s *setup, key string, n int) []event.Event {
	s.t.Helper()
	const laneOf = "SELECT ((hashtextextended($1 COLLATE \"C\", 0) % 16 + 16) % 16)::smallint"
	lane := query[int16](s, laneOf, key)
	var list []event.Event
	for i := 0; len(list) < n; i++ {
		other := "beside-" + key + "-" + string(rune('a'+i%26)) + string(rune('a'+i/26))
		if query[int16](s, laneOf, other) == lane {
			list = append(list, events(other, 1)...)
		}
	}
	return list
}

// TestSecondGroupDrainsTheSameLog drains to two brokers at once, of which one is away.
func TestSecondGroupDrainsTheSameLogToAnotherBroker(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	other := &setup{t: t, db: s.db, nats: outboxtest.NewNATS(t)}
	other.js = outboxtest.NewStream(t, other.nats.URL(), streamName, "events.>")
	second := func(c *relayConfig) { c.Group = "mirror" }
	s.stage("k", 20)
	s.start()
	other.startOn(s.relayURL(), other.nats.URL(), second)
	s.stage("", 200)
	for _, g := range []*setup{s, other} {
		g.eventually("220 events in each stream", func() bool { return g.count() == 220 })
		g.compareWithLog()
	}
	other.nats.Stop()
	s.stage("k", 20)
	s.eventually("240 events in the first stream", func() bool { return s.count() == 240 })
	if err := other.nats.Start(); err != nil {
		t.Fatalf("start NATS: %v", err)
	}
	other.eventually("the second stream answers", other.streamAnswers)
	other.eventually("240 events in the second stream", func() bool { return other.count() == 240 })
	other.compareWithLog()
	s.eventually("both groups settled all", func() bool {
		return query[int](s, "SELECT count(*) FROM (SELECT relay_group FROM outbox.outbox_batch GROUP BY 1 HAVING sum(events) = 240) g") == 2
	})
}
