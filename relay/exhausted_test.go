package relay_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/e2e/fault"
	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// TestExhaustedDatabaseIsRecoveredFrom: nobody gets a connection for several leases, and those that
// were there are gone. The relays wait, also one that starts then, and all is as before
// afterwards.
func TestExhaustedDatabaseIsRecoveredFrom(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		make func(s *setup) shortage
	}{
		{"the server has no room", (*setup).limitedDatabase},
		{"who stands in front has no room", (*setup).limitedProxy},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t)
			short := c.make(s)
			quickly := func(c *relayConfig) { c.Lease = time.Second; c.UnreadyAfter = 500 * time.Millisecond }
			pods := []*pod{s.startOn(short.url, s.nats.URL(), quickly), s.startOn(short.url, s.nats.URL(), quickly)}
			s.awaitLanes(8, 8)
			l := s.startLoad(2)
			before := s.settled()
			s.eventually("progress", func() bool { return s.settled() >= before+50 })

			short.begin()
			since := query[time.Time](s, "SELECT clock_timestamp()")
			for _, p := range pods {
				s.eventually("not ready", func() bool { return p.Ready() != nil })
				s.eventually("the lanes are given up", func() bool { return strings.Contains(p.logs.String(), "lanes lost") })
			}
			late := s.startOn(short.url, s.nats.URL(), quickly)
			pods = append(pods, late)
			s.eventually("the third waits", func() bool { return strings.Contains(late.logs.String(), "waiting for the database") })
			s.eventually("five leases have passed", func() bool {
				return query[bool](s, "SELECT clock_timestamp() > $1::timestamptz + '5 s'", since)
			})
			if n := len(s.lanes()); n != 0 {
				t.Errorf("%d pods have lanes in the shortage, so there was none", n)
			}
			for _, p := range pods {
				log := p.logs.String()
				if !strings.Contains(log, "raise max_connections") && !(s.pooled() && strings.Contains(log, poolerHint)) {
					t.Errorf("no hint in the log:\n%s", log)
				}
			}

			short.end()
			for _, p := range pods {
				s.eventually("ready", func() bool { return p.Ready() == nil })
			}
			s.eventually("the three share all lanes", func() bool {
				owners, all := s.lanes(), 0
				for _, n := range owners {
					all += n
				}
				return len(owners) == len(pods) && all == 16
			})
			l.stop()
			s.wantLogInStream()
			if n, want := s.settled(), s.logged(); n != want {
				t.Errorf("%d events settled, want %d, each once", n, want)
			}
			for _, p := range pods {
				if err := p.stopAndWait(); err != nil {
					t.Errorf("run: %v", err)
				}
			}
		})
	}
}

// shortage is a database whose connections can be exhausted: 53300.
type shortage struct {
	url        string // for the relays
	begin, end func()
}

// limitedDatabase is one that lets nobody in but its superuser, and throws out the others.
func (s *setup) limitedDatabase() shortage {
	s.t.Helper()
	names := gen.RoleNames{}
	for _, role := range canonical.Roles() {
		names[role] = s.db.Name + "_" + string(role)
	}
	sql, err := gen.Roles(canonical.DefaultParams(), names)
	if err != nil {
		s.t.Fatal(err)
	}
	s.exec(sql)
	login := s.db.Name + "_pod"
	s.exec("CREATE ROLE " + login + " LOGIN IN ROLE " + names[canonical.Drainer])
	u, err := url.Parse(s.relayURL())
	if err != nil {
		s.t.Fatal(err)
	}
	u.User = url.User(login)
	return shortage{url: u.String(),
		begin: func() {
			s.exec("ALTER DATABASE " + s.db.Name + " CONNECTION LIMIT 0")
			if s.pooled() {
				s.renewSessions()
			} else {
				s.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1", login)
			}
		},
		end: func() { s.exec("ALTER DATABASE " + s.db.Name + " CONNECTION LIMIT -1") },
	}
}

// limitedProxy is a database behind something that answers everything with 53300 itself.
func (s *setup) limitedProxy() shortage {
	s.t.Helper()
	server := s.relayURL()
	proxy, err := fault.NewPostgresProxy(server)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = proxy.Close() })
	through, err := proxy.URL(server)
	if err != nil {
		s.t.Fatal(err)
	}
	var rule *fault.Handle
	return shortage{url: through,
		begin: func() { rule = proxy.Add(fault.PostgresRule{Do: fault.FailFatally("53300")}) },
		end:   func() { rule.Remove() },
	}
}
