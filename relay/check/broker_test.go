package check_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/outbox/wire"
	"github.com/holdfast-dev/holdfast/relay"
	"github.com/holdfast-dev/holdfast/relay/check"
)

// configure makes a server with other options.
func configure(t *testing.T, change func(*server.Options)) *harness.NATS {
	t.Helper()
	return outboxtest.NewNATS(t, func(o *harness.NATSOptions) { o.Configure = change })
}

// TestStream breaks one thing in the stream or in the server at a time.
func TestStream(t *testing.T) {
	t.Parallel()
	healthy := newBench(t)
	for _, c := range []struct {
		name       string
		make       func(b *bench) // the stream, on a server without any
		check      string
		severity   check.Severity
		text, hint string
	}{
		{"stream missing", func(*bench) {},
			"stream", check.Fail, "stream ORDERS does not exist", "relay stream apply"},
		{"sealed", func(b *bench) { b.stream(jetstream.StreamConfig{}); b.seal() },
			"stream-writable", check.Fail, "is sealed", "RELAY_STREAM"},
		{"mirror", func(b *bench) {
			b.named("ORIGIN", "events.>", jetstream.StreamConfig{})
			b.stream(jetstream.StreamConfig{Mirror: &jetstream.StreamSource{Name: "ORIGIN"}})
		}, "stream-writable", check.Fail, "is a mirror of ORIGIN", "RELAY_STREAM"},
		{"other subjects", func(b *bench) { b.stream(jetstream.StreamConfig{Subjects: []string{"orders.>"}}) },
			"subjects", check.Fail, "does not capture events.>: it has orders.>", "relay stream apply"},
		{"one level of subjects", func(b *bench) { b.stream(jetstream.StreamConfig{Subjects: []string{"events.*"}}) },
			"subjects", check.Fail, "does not capture events.>: it has events.*", "relay stream apply"},
		{"another stream overlaps", func(b *bench) {
			b.stream(jetstream.StreamConfig{Subjects: []string{"events.order.>"}})
			b.named("PAYMENTS", "events.payment.>", jetstream.StreamConfig{})
		}, "overlap", check.Fail, "stream PAYMENTS captures events.payment.>", "narrow RELAY_SUBJECT_PREFIX"},
		{"no ack", func(b *bench) { b.stream(jetstream.StreamConfig{NoAck: true}) },
			"acknowledgements", check.Fail, "acknowledges nothing", "no_ack"},
		{"interest without a consumer", func(b *bench) { b.stream(jetstream.StreamConfig{Retention: jetstream.InterestPolicy}) },
			"retention", check.Fail, "acknowledged and dropped", "consumers first"},
		{"work queue without a consumer", func(b *bench) { b.stream(jetstream.StreamConfig{Retention: jetstream.WorkQueuePolicy}) },
			"retention", check.Warn, "work queue without a consumer", "create its consumer"},
		{"async persistence", func(b *bench) { b.stream(jetstream.StreamConfig{PersistMode: jetstream.AsyncPersistMode}) },
			"persist-mode", check.Fail, "acknowledges before it writes", "default persist mode"},
		{"short dedup window", func(b *bench) { b.stream(jetstream.StreamConfig{Duplicates: 24 * time.Second}) },
			"dedup-window", check.Fail, "remembers ids for 24s, and a late publication may come after 25s", "--dedup-window 25s"},
		{"discard old", func(b *bench) { b.stream(jetstream.StreamConfig{MaxMsgs: 10, MaxBytes: 1 << 20}) },
			"discard", check.Warn, "drops its oldest messages when it is full: max_bytes 1048576, max_msgs 10", "discard to new"},
		{"no batches", func(b *bench) { b.stream(jetstream.StreamConfig{}); b.Relay.Publisher = relay.PublisherFast },
			"publisher", check.Fail, "does not allow batches", "relay stream apply --allow-batches"},
		{"in memory", func(b *bench) { b.stream(jetstream.StreamConfig{Storage: jetstream.MemoryStorage}) },
			"storage", check.Warn, "is in memory", "file storage"},
		{"one replica", func(b *bench) { b.stream(jetstream.StreamConfig{}); b.Allow = []string{"sync"} },
			"replicas", check.Warn, "has one replica", "--replicas 3"},
		{"nobody knows when it syncs", func(b *bench) { b.stream(jetstream.StreamConfig{}); b.Allow = []string{"replicas"} },
			"sync", check.Warn, "a client cannot see the setting", "sync_interval"},
		{"small messages in the stream", func(b *bench) { b.stream(jetstream.StreamConfig{MaxMsgSize: 1_000_000}) },
			"message-size", check.Fail, "stream ORDERS (max_msg_size) takes 1000000 bytes", "max_event_bytes"},
		{"small messages in the server", func(b *bench) {
			b.useNATS(configure(b.t, func(o *server.Options) { o.MaxPayload = 900_000 }))
			b.stream(jetstream.StreamConfig{})
		}, "message-size", check.Fail, "the server (max_payload) takes 900000 bytes", "max_event_bytes"},
		{"base64 needs more", func(b *bench) { b.stream(jetstream.StreamConfig{}); b.Relay.Mode = wire.Structured },
			"message-size", check.Fail, "in structured mode", "max_event_bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := healthy.on(t)
			b.useNATS(outboxtest.NewNATS(t))
			c.make(b)
			b.finds(c.check, c.severity, c.text, c.hint)
		})
	}
}

func (b *bench) seal() {
	b.t.Helper()
	nc, err := nats.Connect(b.Servers)
	if err != nil {
		b.t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		b.t.Fatal(err)
	}
	stream, err := js.Stream(b.t.Context(), "ORDERS")
	if err != nil {
		b.t.Fatal(err)
	}
	cfg := stream.CachedInfo().Config
	cfg.Sealed = true
	if _, err := js.UpdateStream(b.t.Context(), cfg); err != nil {
		b.t.Fatal(err)
	}
}

// TestInterestWithAConsumer: what a consumer wants is kept.
func TestInterestWithAConsumer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.useNATS(outboxtest.NewNATS(t))
	js := outboxtest.NewStream(t, b.Servers, "OTHER", "other")
	stream, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"events.>"}, Retention: jetstream.InterestPolicy})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "c"}); err != nil {
		t.Fatal(err)
	}
	b.clean()
}

func TestNATSUnreachable(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Servers = "nats://user:hunter2@127.0.0.1:1"
	b.finds("nats", check.Fail, "NATS cannot be reached: nats://127.0.0.1:1", "check that the server runs")
	if r := b.run(); !r.Away() {
		t.Error("waiting may help, and the report does not say so")
	}
	// What takes connections and says nothing.
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() }) // it was asked for nothing
	b.Servers = "nats://" + silent.Addr().String()
	b.finds("nats", check.Fail, "NATS cannot be reached", "check that the server runs")
}

func TestWrongNATSCredentials(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.useNATS(configure(t, func(o *server.Options) { o.Username, o.Password = "relay", "right" }))
	b.Login = []nats.Option{nats.UserInfo("relay", "hunter2")}
	b.finds("nats-login", check.Fail, "NATS refuses the login", "credentials")
	for _, f := range b.run().Findings {
		if strings.Contains(f.Text+f.Hint, "hunter2") {
			t.Errorf("the password is in %+v", f)
		}
	}
}

func TestJetStreamNotEnabled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	t.Run("on the server", func(t *testing.T) {
		t.Parallel()
		b := b.on(t)
		b.useNATS(configure(t, func(o *server.Options) { o.JetStream = false }))
		b.finds("jetstream", check.Fail, "not enabled on the server", "enable JetStream")
	})
	t.Run("for the account", func(t *testing.T) {
		t.Parallel()
		b := b.on(t)
		b.useNATS(configure(t, func(o *server.Options) {
			with, without := server.NewAccount("WITH"), server.NewAccount("WITHOUT")
			o.Accounts = []*server.Account{with, without}
			o.Users = []*server.User{{Username: "relay", Password: "p", Account: without}}
		}))
		b.Login = []nats.Option{nats.UserInfo("relay", "p")}
		b.finds("jetstream", check.Fail, "not enabled", "enable JetStream")
	})
}

// TestPermissions: what a user may not do is found out without doing it.
func TestPermissions(t *testing.T) {
	t.Parallel()
	healthy := newBench(t)
	api := []string{"$JS.API.>", "$SYS.REQ.USER.INFO"}
	for _, c := range []struct {
		name        string
		allow, deny []string
		check       string // "" for nothing to find
		severity    check.Severity
		text, hint  string
		skipped     []string
	}{
		{name: "all it needs", allow: append([]string{"events.>"}, api...)},
		{name: "may not publish", allow: api,
			check: "publish-permission", severity: check.Fail, text: "may not publish on events.>", hint: "permit the user"},
		{name: "may publish a part", allow: append([]string{"events.order.>"}, api...),
			check: "publish-permission", severity: check.Warn, text: "may publish on a part of events.> only", hint: "permit the user"},
		{name: "is denied", deny: []string{"events.>"},
			check: "publish-permission", severity: check.Fail, text: "may not publish on events.>", hint: "permit the user"},
		{name: "is denied a part", deny: []string{"events.secret.>"},
			check: "publish-permission", severity: check.Warn, text: "may publish on a part of events.> only", hint: "permit the user"},
		{name: "least permissions", allow: []string{"events.>", "$JS.API.INFO", "$JS.API.STREAM.INFO.ORDERS", "$JS.API.CONSUMER.>", "$JS.API.STREAM.MSG.GET.ORDERS"},
			skipped: []string{"publish-permission", "overlap"}},
		{name: "no JetStream API", allow: []string{"events.>"},
			check: "jetstream", severity: check.Fail, text: "may not use the JetStream API", hint: "$JS.API.STREAM.MSG.GET.>"},
		{name: "no stream", allow: []string{"events.>", "$JS.API.INFO", "$SYS.REQ.USER.INFO"},
			check: "stream", severity: check.Fail, text: "may not ask about stream ORDERS", hint: "$JS.API.STREAM.MSG.GET.>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := healthy.on(t)
			n := configure(t, func(o *server.Options) {
				o.Users = []*server.User{{Username: "admin", Password: "p"}, {Username: "relay", Password: "p",
					Permissions: &server.Permissions{Publish: &server.SubjectPermission{Allow: c.allow, Deny: c.deny}}}}
			})
			b.Servers = strings.Replace(n.URL(), "nats://", "nats://admin:p@", 1)
			b.stream(jetstream.StreamConfig{})
			b.useNATS(n)
			b.Login = []nats.Option{nats.UserInfo("relay", "p")}
			began := time.Now()
			if c.check != "" {
				b.finds(c.check, c.severity, c.text, c.hint)
				return
			}
			r := b.clean()
			t.Logf("took %s", time.Since(began))
			var skipped []string
			for _, f := range r.Of(check.Skip) {
				skipped = append(skipped, f.Check)
			}
			if strings.Join(skipped, " ") != strings.Join(c.skipped, " ") {
				t.Errorf("not made: %v, want %v", skipped, c.skipped)
			}
		})
	}
}
