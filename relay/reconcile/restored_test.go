package reconcile_test

import (
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/relay/reconcile"
)

// oldCopy is a cluster of which a copy can be kept and put back, as after a failover that lost
// commits.
type oldCopy struct {
	t       *testing.T
	cluster *harness.Postgres
	db      *outboxtest.Database
	dir     string // of the data
}

// keep stops the server, copies its data, and starts it again.
func (c *oldCopy) keep() {
	c.t.Helper()
	c.stopped(func() { c.run("cp", "-a", c.dir, c.dir+".old") })
}

// restore puts the copy back.
func (c *oldCopy) restore() {
	c.t.Helper()
	c.stopped(func() {
		if err := os.RemoveAll(c.dir); err != nil {
			c.t.Fatal(err)
		}
		c.run("cp", "-a", c.dir+".old", c.dir)
	})
}

func (c *oldCopy) stopped(act func()) {
	c.t.Helper()
	if err := c.cluster.Stop(c.t.Context(), "fast"); err != nil {
		c.t.Fatal(err)
	}
	act()
	if err := c.cluster.Start(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	c.db.Pool.Reset()
}

func (c *oldCopy) run(name string, args ...string) {
	c.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		c.t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// TestDatabaseIsAnOldCopy: the database lost the commits since a copy of it was made: settles, a
// release, and a cancel that never was. What was settled is published again under its ids and
// is in the stream once. What was released then and is cancelled now was published, and a
// comparison says so.
func TestDatabaseIsAnOldCopy(t *testing.T) {
	t.Parallel()
	cluster := outboxtest.NewCluster(t, harness.PostgresOptions{})
	s := &setup{t: t, db: outboxtest.NewDatabaseIn(t, cluster), nats: outboxtest.NewNATS(t)}
	s.connect()
	cfg := jetstream.StreamConfig{Name: streamName, Subjects: []string{"events.>"}, Duplicates: 10 * time.Minute}
	if _, err := s.js.CreateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	kept := &oldCopy{t: t, cluster: cluster, db: s.db, dir: query[string](s, "SHOW data_directory")}
	s.stage("before", 5)
	s.drain()
	s.stage("k", 20)
	hold := s.hold("held", 4)
	kept.keep()
	s.exec("SELECT outbox.hold_release($1, 1, 'test')", hold.Operation.String())
	s.drain()
	if n := len(s.messages()); n != 29 {
		t.Fatalf("%d messages, want 29", n)
	}

	kept.restore()
	if n := query[int64](s, "SELECT coalesce(sum(events), 0)::bigint FROM outbox.outbox_batch"); n != 5 {
		t.Fatalf("%d events are settled in the old copy, want 5", n)
	}
	s.wants(s.reconcile(), counts{reconcile.Held: 4})
	s.drain()
	if n := len(s.messages()); n != 29 {
		t.Errorf("%d messages, want 29: what was published is not stored again", n)
	}
	s.exec("SELECT outbox.hold_cancel($1, 1, 'test')", hold.Operation.String())
	r := s.reconcile(func(c *reconcile.Config) { c.Skew = time.Nanosecond }) // the log is younger than the usual one
	s.wants(r, counts{reconcile.Foreign: 4})
	if r.Unexplained() != 4 {
		t.Errorf("%d findings are unexplained, want the 4 events that are cancelled and published", r.Unexplained())
	}
}

// TestAcknowledgedAndNotStored: an interest stream without a consumer acknowledges events and keeps
// none. Such a stream cannot be compared, which is said; once it keeps what it gets, all of
// them are missing, and are put back.
func TestAcknowledgedAndNotStored(t *testing.T) {
	t.Parallel()
	s := newSetup(t, func(c *jetstream.StreamConfig) { c.Retention = jetstream.InterestPolicy })
	s.stage("k", 10)
	s.stage("", 10)
	s.drain()
	if n := query[int64](s, "SELECT coalesce(sum(events), 0)::bigint FROM outbox.outbox_batch"); n != 20 {
		t.Fatalf("%d events are settled, want 20", n)
	}
	if _, err := reconcile.Run(t.Context(), s.db.Pool, s.nc, reconcile.Config{Relay: s.config()}); !errors.Is(err, reconcile.ErrConsumedStream) {
		t.Errorf("comparison with an interest stream: %v, want it refused", err)
	}
	keeps := jetstream.StreamConfig{Name: streamName, Subjects: []string{"events.>"}, Duplicates: window, Retention: jetstream.LimitsPolicy}
	if _, err := s.js.UpdateStream(t.Context(), keeps); err != nil {
		t.Fatal(err)
	}
	r := s.reconcile()
	s.wants(r, counts{reconcile.Missing: 20})
	if r.Unexplained() != 20 || r.Settled != 20 || r.Present != 0 {
		t.Errorf("report %+v", r)
	}
	s.eventually("they are put back", func() bool { return s.reconcile(withRepair).Unexplained() == 0 }) // after the dedup window
	if n := len(s.messages()); n != 20 {
		t.Errorf("%d messages, want 20", n)
	}
}
