package relay_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/holdfast-dev/holdfast/e2e/fault"
	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

const (
	wakeSubject = "holdfast.wake.test"
	// asleep is how long a relay sleeps here when nobody wakes it: longer than a test waits.
	asleep = time.Minute
	soon   = asleep * 3 / 4
)

// startAsleep starts a relay and returns when it has nothing to look at for a minute.
func (s *setup) startAsleep(databaseURL string, change func(*relayConfig)) *pod {
	s.t.Helper()
	s.stage("first", 1)
	p := s.startOn(databaseURL, s.nats.URL(), func(c *relayConfig) {
		c.PollMin, c.PollMax = asleep, asleep
		change(c)
	})
	s.within(soon, "the first event is settled", func() bool { return s.settled() == 1 })
	return p
}

func (s *setup) connect() *nats.Conn {
	s.t.Helper()
	nc, err := nats.Connect(s.nats.URL())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(nc.Close)
	return nc
}

// TestWakeUpOverNATS: an event leaves long before the relay polls.
func TestWakeUpOverNATS(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	nc := s.connect()
	s.startAsleep(s.relayURL(), func(c *relayConfig) { c.WakeSubject = wakeSubject })
	s.stage("k", 3)
	s.within(soon, "the events are there", func() bool {
		if err := outbox.Wake(nc, wakeSubject); err != nil { // again: the subscription may be younger
			t.Fatal(err)
		}
		return s.count() == 4
	})
}

// TestManyWakeUpsCostFewLooks: a flood of wake-ups is not a flood of statements.
func TestManyWakeUpsCostFewLooks(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	nc := s.connect()
	proxy, url := s.postgresProxy()
	isLook := fault.Executes("AS l (lane, drained)")
	looks := proxy.Add(fault.PostgresRule{Match: isLook, Do: fault.StallFor(0)})
	const gap = 200 * time.Millisecond
	s.startAsleep(url, func(c *relayConfig) { c.WakeSubject, c.WakeGap = wakeSubject, gap })
	before, start := looks.Hits(), time.Now()
	s.within(soon, "5 looks", func() bool {
		for range 1000 {
			if err := outbox.Wake(nc, wakeSubject); err != nil {
				t.Fatal(err)
			}
		}
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
		return looks.Hits()-before >= 5
	})
	if n, took := looks.Hits()-before, time.Since(start); took < time.Duration(n-2)*gap {
		t.Errorf("%d looks in %s, want %s between two", n, took, gap)
	}
}

// postgresProxy puts a proxy before the database and returns the URL that leads through it.
func (s *setup) postgresProxy() (*fault.PostgresProxy, string) {
	s.t.Helper()
	proxy, err := fault.NewPostgresProxy(s.db.URL)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = proxy.Close() })
	url, err := proxy.URL(s.db.URL, "sslmode", "disable")
	if err != nil {
		s.t.Fatal(err)
	}
	return proxy, url
}

// TestRelayMayNotSubscribe: a right that is missing is told once, and the relay polls.
func TestRelayMayNotSubscribe(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.nats = outboxtest.NewNATS(t, func(o *harness.NATSOptions) {
		o.Configure = func(o *server.Options) {
			o.Users = []*server.User{{Username: "any", Password: "any"}, {
				Username: "relay", Password: "right",
				Permissions: &server.Permissions{Subscribe: &server.SubjectPermission{Deny: []string{wakeSubject}}},
			}}
		}
	})
	s.js = outboxtest.NewStream(t, s.as("any:any@"), streamName, "events.>")
	p := s.startOn(s.relayURL(), s.as("relay:right@"), func(c *relayConfig) { c.WakeSubject = wakeSubject })
	s.stage("k", 5)
	s.within(soon, "the events are there", func() bool { return s.count() == 5 })
	s.within(soon, "it is told", func() bool { return strings.Contains(p.logs.String(), "no wake-ups over NATS") })
	s.within(soon, "two more attempts", func() bool { return s.denied() >= 3 })
	if n := strings.Count(p.logs.String(), "no wake-ups over NATS"); n != 1 {
		t.Errorf("told %d times:\n%s", n, p.logs)
	}
}

// as returns the address of the broker with a user in it.
func (s *setup) as(user string) string {
	return strings.Replace(s.nats.URL(), "nats://", "nats://"+user, 1)
}

// denied counts the refused subscriptions that the broker has logged.
func (s *setup) denied() int {
	s.t.Helper()
	log, err := s.nats.Log()
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.Count(log, "Subscription Violation")
}

// TestWakeUpByNotify: staging notifies, and the event leaves long before the relay polls. It never
// goes through a pooler, which would swallow what is listened to.
func TestWakeUpByNotify(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.startAsleep(s.db.URL, func(c *relayConfig) { c.ListenChannel = outbox.WakeChannel })
	s.within(soon, "the relay listens", func() bool {
		return query[int](s, "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN %' AND datname = current_database()") == 1
	})
	publisher, err := outbox.New(outbox.Config{NotifyChannel: outbox.WakeChannel})
	if err != nil {
		t.Fatal(err)
	}
	staged := 1
	s.within(soon, "an event leaves at once", func() bool {
		err := pgx.BeginFunc(t.Context(), s.db.Pool, func(tx pgx.Tx) error {
			_, err := publisher.PublishTx(t.Context(), tx, events("k", 1)...)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		staged++
		return s.count() > 1
	})
	s.within(soon, "all events leave", func() bool { return s.count() == staged })
}

// TestSwallowedNotificationsAreFound: the relay notices that what it listens to never arrives,
// as behind a pooler in transaction mode, and when it does again.
func TestSwallowedNotificationsAreFound(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	proxy, url := s.postgresProxy()
	proxy.SwallowNotifications(true)
	p := s.startOn(url, s.nats.URL(), func(c *relayConfig) {
		c.ListenChannel, c.AckTimeout, c.UnreadyAfter = outbox.WakeChannel, 500*time.Millisecond, time.Second
	})
	s.within(soon, "it is told", func() bool {
		return strings.Contains(p.logs.String(), "no wake-ups by LISTEN") && strings.Contains(p.logs.String(), "pooler in transaction mode")
	})
	s.stage("k", 5)
	s.within(soon, "the relay polls", func() bool { return s.count() == 5 })
	proxy.SwallowNotifications(false)
	s.within(soon, "it is told", func() bool { return strings.Contains(p.logs.String(), "notifications of the database arrive") })
	if n := strings.Count(p.logs.String(), "no wake-ups by LISTEN"); n != 1 {
		t.Errorf("told %d times:\n%s", n, p.logs)
	}
}
