package check_test

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/relay"
	"github.com/holdfast-dev/holdfast/relay/check"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// patience bounds one look, on a machine that does other things as well.
const patience = 90 * time.Second

// bench is a set-up that is healthy until a test breaks it.
type bench struct {
	t  *testing.T
	db *outboxtest.Database
	check.Target
}

// newBench makes a database with the roles of a relay, in which a relay seems to live, and a server
// with a stream. One server has one replica and syncs when it likes, which is allowed by name.
func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, db: outboxtest.NewDatabase(t)}
	b.prepare()
	b.useNATS(outboxtest.NewNATS(t))
	b.stream(jetstream.StreamConfig{})
	return b
}

func (b *bench) prepare() {
	b.t.Helper()
	names := gen.RoleNames{}
	for _, role := range canonical.Roles() {
		names[role] = b.db.Name + "_" + string(role)
	}
	sql, err := gen.Roles(canonical.DefaultParams(), names)
	if err != nil {
		b.t.Fatal(err)
	}
	b.exec(sql)
	b.exec("CREATE ROLE " + b.login() + " LOGIN IN ROLE " + names[canonical.Drainer])
	b.exec(`INSERT INTO outbox.outbox_relay (relay_group, owner, version, alive_until)
		VALUES ('default', 'pod-a', 'v1', clock_timestamp() + interval '1 hour')`)
	b.exec(`UPDATE outbox.outbox_lane SET lease_owner = 'pod-a', lease_token = gen_random_uuid(), lease_until = clock_timestamp() + interval '1 hour'`)
	b.Relay = relay.Config{Stream: "ORDERS"}
	b.Allow = []string{"replicas", "sync"}
	b.connectAs(b.login())
}

// login is the role that a relay logs in with.
func (b *bench) login() string { return b.db.Name + "_pod" }

// drainer is the role that has the rights.
func (b *bench) drainer() string { return b.db.Name + "_relay" }

// connectAs makes the target log in as a role.
func (b *bench) connectAs(role string, options ...string) {
	b.t.Helper()
	u, err := url.Parse(b.db.URL)
	if err != nil {
		b.t.Fatal(err)
	}
	u.User = url.User(role)
	b.connectTo(u, options...)
}

func (b *bench) connectTo(u *url.URL, options ...string) {
	b.t.Helper()
	query := u.Query()
	for i := 0; i < len(options); i += 2 {
		query.Set(options[i], options[i+1])
	}
	u.RawQuery = query.Encode()
	var err error
	if b.Database, err = relay.PoolConfig(u.String(), 8); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) useNATS(n *harness.NATS) { b.Servers = n.URL() }

// stream makes the stream; zero fields are as they should be.
func (b *bench) stream(cfg jetstream.StreamConfig) {
	b.t.Helper()
	b.named("ORDERS", "events.>", cfg)
}

func (b *bench) named(name, subject string, cfg jetstream.StreamConfig) {
	b.t.Helper()
	cfg.Name = name
	if cfg.Subjects == nil && cfg.Mirror == nil {
		cfg.Subjects = []string{subject}
	}
	js := outboxtest.NewStream(b.t, b.Servers, "SCRATCH", "scratch")
	if _, err := js.CreateStream(b.t.Context(), cfg); err != nil {
		b.t.Fatal(err)
	}
	if err := js.DeleteStream(b.t.Context(), "SCRATCH"); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) exec(sql string, args ...any) {
	b.t.Helper()
	outboxtest.Exec(b.t, b.db.Pool, sql, args...)
}

// on is the same set-up for a subtest.
func (b *bench) on(t *testing.T) *bench {
	c := *b
	c.t = t
	return &c
}

func (b *bench) run() check.Report {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	r, err := check.Run(ctx, b.Target)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

// finds wants one finding that is not ok and no other.
func (b *bench) finds(name string, severity check.Severity, text, hint string) {
	b.t.Helper()
	r := b.run()
	found := false
	for _, f := range r.Of(check.Warn, check.Fail) {
		if f.Check == name && f.Severity == severity && strings.Contains(f.Text, text) && strings.Contains(f.Hint, hint) && f.Hint != "" {
			found = true
			continue
		}
		b.t.Errorf("found %s %s: %s (hint: %s)", f.Severity, f.Check, f.Text, f.Hint)
	}
	if !found {
		b.t.Errorf("no finding %s %s with %q and hint %q", severity, name, text, hint)
	}
	if r.Healthy() != (severity != check.Fail) {
		b.t.Errorf("healthy is %v", r.Healthy())
	}
	for _, f := range r.Findings {
		if strings.ContainsAny(f.Text+f.Hint, "\n\t") || f.Text == "" || f.Check == "" {
			b.t.Errorf("not one line: %+v", f)
		}
	}
}

// clean wants nothing that is not ok.
func (b *bench) clean() check.Report {
	b.t.Helper()
	r := b.run()
	for _, f := range r.Of(check.Warn, check.Fail) {
		b.t.Errorf("found %s %s: %s (hint: %s)", f.Severity, f.Check, f.Text, f.Hint)
	}
	return r
}
