package relay_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/e2e/fault"
	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/outbox/wire"
	"github.com/holdfast-dev/holdfast/relay"
)

const (
	victim     = "victim"
	ackTimeout = 500 * time.Millisecond
)

// outcome is a row of the table in docs/errors.md and how it is provoked for the publication of
// the victim, or for all.
type outcome struct {
	row    string
	class  relay.Class
	reason string // of a refusal
	// rule acts on the publications of the victim twice, through a proxy; nil for none.
	rule *fault.NATSRule
	// broken is done before the relay starts, and mended when the outcome was seen; nil for nothing.
	broken, mended func(s *setup)
	// staged stages the victim, and one behind it, when the relay runs; nil for before it does.
	staged func(s *setup)
	// change makes the server; nil for the usual one.
	change func(*harness.NATSOptions)
}

// instead answers in place of the server, which does not get the message.
func instead(r fault.Reply) *fault.NATSRule {
	return &fault.NATSRule{Match: fault.AtID(fault.OnPublication, wire.MsgID("/test", victim)), Times: 2, Do: fault.Answer(r)}
}

func code(status, code int) *fault.NATSRule {
	return instead(fault.JetStreamError(status, code, "no text is looked at: too large"))
}

// afterwards acts when the server has stored the message.
func afterwards(do fault.NATSAction) *fault.NATSRule {
	return &fault.NATSRule{Match: fault.AtID(fault.OnAck, wire.MsgID("/test", victim)), Times: 2, Do: do}
}

func outcomes() []outcome {
	subjects := func(list ...string) func(*setup) {
		return func(s *setup) { s.updateStream(jetstream.StreamConfig{Name: streamName, Subjects: list}) }
	}
	events := subjects("events.>")
	return []outcome{
		{row: "no answer within the ack timeout", class: relay.Unknown, rule: afterwards(fault.Swallow())},
		{row: "the connection is lost with the answer under way", class: relay.Unknown, rule: afterwards(fault.Cut())},
		{row: "duplicate without a sequence", class: relay.Unknown, rule: afterwards(fault.Answer(fault.Stored(streamName, 0, true)))},

		{
			row: "the server is away", class: relay.Unavailable,
			broken: func(s *setup) { s.nats.Stop() },
			mended: func(s *setup) {
				if err := s.nats.Start(); err != nil {
					s.t.Fatalf("start NATS: %v", err)
				}
				s.eventually("the stream answers", s.streamAnswers)
			},
		},
		{row: "no responders: no stream has the subject, or it has no leader", class: relay.Unavailable, rule: instead(fault.NoResponders())},
		{
			row: "a subscriber is there and no stream has the subject", class: relay.Unavailable,
			broken: func(s *setup) { subjects("elsewhere.>")(s); s.subscribe("") }, mended: events,
		},
		{row: "10059 stream not found", class: relay.Unavailable, rule: code(404, 10059)},
		{row: "10060 the subject belongs to another stream", class: relay.Unavailable, rule: code(400, 10060)},
		{row: "acknowledged by another stream", class: relay.Unavailable, rule: instead(fault.Stored("OTHER", 7, false))},
		{row: "not an acknowledgement", class: relay.Unavailable, rule: instead(fault.Reply{Payload: "+OK"})},
		{row: "10077 store full", class: relay.Unavailable, rule: code(503, 10077)},
		{row: "10047 storage of the account or server used up", class: relay.Unavailable, rule: code(500, 10047)},
		{row: "10023 insufficient resources", class: relay.Unavailable, rule: code(503, 10023)},
		{row: "10008 no leader, not available for a while", class: relay.Unavailable, rule: code(503, 10008)},
		{row: "10167 too many requests", class: relay.Unavailable, rule: code(429, 10167)},
		{row: "10158 the id is in process", class: relay.Unavailable, rule: code(409, 10158)},
		{row: "10109 the stream is sealed", class: relay.Unavailable, rule: code(400, 10109)},
		{row: "a code to come", class: relay.Unavailable, rule: code(400, 19999)},
		{
			row: "the right to publish is missing", class: relay.Unavailable,
			broken: func(s *setup) { s.user = "nobody:secret@" }, mended: func(s *setup) { s.user = "" },
			change: func(o *harness.NATSOptions) {
				o.Configure = func(o *server.Options) {
					o.NoAuthUser = "all"
					o.Users = []*server.User{
						{Username: "all", Password: "secret"},
						{Username: "nobody", Password: "secret", Permissions: &server.Permissions{Publish: &server.SubjectPermission{Allow: []string{"$JS.API.>"}}}},
					}
				}
			},
		},

		{
			row: "10054 larger than the stream allows", class: relay.Refused, reason: "message_too_large",
			broken: func(s *setup) { s.limitMessages(2000) }, mended: func(s *setup) { s.limitMessages(-1) },
		},
		{row: "10097 header block too large", class: relay.Refused, reason: "header_too_large", rule: code(400, 10097)},
		{
			row: "larger than the server allows", class: relay.Refused, reason: "message_too_large",
			change: func(o *harness.NATSOptions) { o.MaxPayload = 2000 },
		},
		{
			row: "not an event that can be sent", class: relay.Refused, reason: "malformed",
			staged: func(s *setup) {
				s.awaitLanes(16) // a relay that starts would refuse such a schema
				s.exec("ALTER DOMAIN outbox.event_outbox_type DROP CONSTRAINT event_outbox_type")
				s.exec(`INSERT INTO outbox.event_outbox (event_id, source, type, partition_key) VALUES ($1, '/test', 'not a type', 'k')`, victim)
				s.stage("k", 1)
			},
		},
	}
}

// TestOutcomesOfPublications provokes each row of the table. What is not about the event is published
// again, with the same id, until the stream has it, and nothing is counted; what is about the
// event is counted for that one alone.
func TestOutcomesOfPublications(t *testing.T) {
	t.Parallel()
	table, provoked := outcomeTable(t), map[string]bool{}
	for _, o := range outcomes() {
		t.Run(o.row, func(t *testing.T) {
			t.Parallel()
			if table[o.row] != string(o.class) {
				t.Errorf("docs/errors.md says %q of %q, want %s", table[o.row], o.row, o.class)
			}
			s, proxy := newSetupBehindProxy(t, o.change)
			large := events("k", 1)
			large[0].SetID(victim)
			if err := large[0].SetData("application/octet-stream", noise(4000)); err != nil {
				t.Fatal(err)
			}
			if o.staged == nil {
				s.stageTogether(append(large, events("k", 1)...)...)
			}
			if o.broken != nil {
				o.broken(s)
			}
			var acted *fault.Handle
			if o.rule != nil {
				acted = proxy.Add(*o.rule)
			}
			address := strings.Replace(proxy.URL(), "nats://", "nats://"+s.user, 1)
			p := s.startOn(s.db.URL, address, func(c *relayConfig) { c.AckTimeout = ackTimeout })
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("the log of the relay:\n%s", p.logs)
				}
			})
			if o.staged != nil {
				o.staged(s)
			}
			if o.class == relay.Refused {
				s.wantRefused(o)
				return
			}
			s.eventually("the log says the class", func() bool {
				return strings.Contains(p.logs.String(), fmt.Sprintf("class=%s", o.class))
			})
			if o.mended != nil {
				o.mended(s)
			}
			if s.user == "" && strings.Contains(address, "@") {
				p.stopAndWait() //nolint:errcheck // it is checked elsewhere
				s.startOn(s.db.URL, proxy.URL())
			}
			s.wantLogInStream()
			if acted != nil && acted.Hits() != 2 {
				t.Errorf("the publication was answered so %d times, want 2", acted.Hits())
			}
			if n := query[int](s, "SELECT count(*) FROM outbox.outbox_dead_letter_history"); n != 0 {
				t.Errorf("%d events were given up", n)
			}
			if n := s.settled(); n != 2 {
				t.Errorf("%d events settled, want 2, each once", n)
			}
		})
		provoked[o.row] = true
	}
	for row := range table {
		if !provoked[row] {
			t.Errorf("docs/errors.md has the row %q, which nothing provokes", row)
		}
	}
}

// wantRefused: the event is counted, its key waits, another goes on.
func (s *setup) wantRefused(o outcome) {
	s.t.Helper()
	s.eventually("the event is counted", func() bool {
		return query[int](s, "SELECT count(*) FROM outbox.outbox_retry WHERE event_id = $1 AND attempts > 0 AND reason_code = $2", victim, o.reason) == 1
	})
	other := s.stage("other", 1)
	s.eventually("another key goes on", func() bool { return s.count() == 1 })
	if got := s.inStream()[0].ID(); got != other[0] {
		s.t.Errorf("event %s is in the stream, want %s: the key waits", got, other[0])
	}
	if o.mended == nil && o.rule == nil {
		return
	}
	if o.mended != nil {
		o.mended(s)
	}
	s.wantLogInStream()
}

// outcomeTable reads the table of docs/errors.md: what comes back, and its class.
func outcomeTable(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## What the broker's answers mean")
	section, _, _ = strings.Cut(section, "\n## ")
	table := map[string]string{}
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) == 5 && !strings.Contains(line, "---") && !strings.Contains(line, "what comes back") {
			table[strings.TrimSpace(cells[1])] = strings.TrimSpace(cells[2])
		}
	}
	return table
}

// newSetupBehindProxy is a setup whose broker can be reached through a proxy, too.
func newSetupBehindProxy(t *testing.T, change func(*harness.NATSOptions)) (*setup, *fault.NATSProxy) {
	t.Helper()
	s := &setup{t: t, db: outboxtest.NewDatabase(t)}
	var options []func(*harness.NATSOptions)
	if change != nil {
		options = append(options, change)
	}
	s.nats = outboxtest.NewNATS(t, options...)
	s.js = outboxtest.NewStream(t, s.nats.URL(), streamName, "events.>")
	return s, s.proxy()
}

// proxy stands between relays and the broker.
func (s *setup) proxy() *fault.NATSProxy {
	s.t.Helper()
	proxy, err := fault.NewNATSProxy(s.nats.URL())
	if err != nil {
		s.t.Fatalf("proxy: %v", err)
	}
	s.t.Cleanup(func() { _ = proxy.Close() }) // what it carried has ended
	return proxy
}

func (s *setup) updateStream(cfg jetstream.StreamConfig) {
	s.t.Helper()
	if _, err := s.js.UpdateStream(s.t.Context(), cfg); err != nil {
		s.t.Fatalf("update stream: %v", err)
	}
}
