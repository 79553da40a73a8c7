package relay_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// subscribe listens on the subjects of the events as anybody may, and answers each message with
// what answer returns, "" for nothing.
func (s *setup) subscribe(answer string) {
	s.t.Helper()
	nc, err := nats.Connect(s.nats.URL(), nats.MaxReconnects(-1))
	if err != nil {
		s.t.Fatalf("connect to NATS: %v", err)
	}
	s.t.Cleanup(nc.Close)
	_, err = nc.Subscribe("events.>", func(m *nats.Msg) {
		if answer != "" {
			_ = m.Respond([]byte(answer)) // the relay may be gone
		}
	})
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		s.t.Fatalf("subscribe: %v", err)
	}
}

// TestSubscriberIsNoStream: somebody listens on the subject, so the server does not say that
// no stream has it. The relay finds out, settles nothing, and says what to do.
func TestSubscriberIsNoStream(t *testing.T) {
	t.Parallel()
	const ours, another = `{"stream":"EVENTS","seq":1`, `{"stream":"OTHER","seq":1}`
	for _, c := range []struct {
		name   string
		answer string
		stream bool   // there is one, without the subject
		log    string // that explains it
	}{
		{"silent, no stream", "", false, "relay stream apply"},
		{"silent, stream without the subject", "", true, "relay stream plan"},
		{"answers something", "+OK", true, "waiting for the broker"},
		{"answers half an acknowledgement", ours, true, "waiting for the broker"},
		{"answers for another stream", another, true, "acknowledged by stream OTHER"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSetupWithoutStream(t)
			if c.stream {
				s.createStream(streamName, "elsewhere.>")
			}
			s.subscribe(c.answer)
			p := s.start(func(c *relayConfig) { c.AckTimeout = 300 * time.Millisecond })
			s.stage("k", 3)
			s.stage("", 3)
			s.eventually("the log explains it", func() bool { return strings.Contains(p.logs.String(), c.log) })
			if n := s.settled(); n != 0 {
				t.Errorf("%d events are settled, and nobody stored them", n)
			}
			if n := query[int](s, "SELECT count(*) FROM outbox.outbox_retry"); n != 0 {
				t.Errorf("%d events are taken for refused", n)
			}
			if c.answer != "" {
				return // it would answer for the stream, too
			}
			cfg := jetstream.StreamConfig{Name: streamName, Subjects: []string{"events.>"}}
			if _, err := s.js.CreateOrUpdateStream(t.Context(), cfg); err != nil {
				t.Fatalf("create stream: %v", err)
			}
			s.wantLogInStream()
		})
	}
}
