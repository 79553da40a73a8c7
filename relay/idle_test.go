package relay_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/relay"
)

// TestIdleRelayCostsNextToNothing watches a relay with the settings of production that has
// nothing to do: it writes nothing but its renewals, and hardly uses the processor.
func TestIdleRelayCostsNextToNothing(t *testing.T) {
	t.Parallel()
	s, _ := newSetupIn(t, map[string]string{"autovacuum": "off"}) // transaction ids are counted for the whole cluster
	c := s.startChild(func(c *relayConfig) { *c = relayConfig{Stream: streamName} })
	s.stage("k", 10)
	s.eventually("10 events settled", func() bool { return s.settled() == 10 })
	s.eventually("ready", func() bool { return c.ready() == "" })

	const watch = 7 * time.Second // two renewals, three at most
	xid := func() int64 { return query[int64](s, "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint") }
	start, xids, cpu, lines := time.Now(), xid(), c.cpu(), c.logs.lines()
	s.eventually("some time has passed", func() bool { return time.Since(start) >= watch })
	if n := xid() - xids; n < 2 || n > 3 {
		t.Errorf("%d transactions wrote something in %s, want the 2 or 3 renewals", n, watch)
	}
	s.eventually("between its looks it holds no lock, and few connections", func() bool {
		return query[bool](s, `SELECT count(*) FILTER (WHERE l.pid IS NOT NULL) = 0 AND count(DISTINCT a.pid) <= 8
			  FROM pg_stat_activity AS a LEFT JOIN pg_locks AS l ON l.pid = a.pid
			 WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()`)
	})
	used := c.cpu() - cpu
	t.Logf("%s of processor time in %s", used, watch)
	if used > watch/10 {
		t.Errorf("an idle relay used %s of processor time in %s", used, watch)
	}
	if n := c.logs.lines() - lines; n != 0 {
		t.Errorf("an idle relay logged %d lines:\n%s", n, c.logs)
	}
}

// TestSlowBrokerDoesNotCostTheLease keeps a batch in flight for several leases.
func TestSlowBrokerDoesNotCostTheLease(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	wire := newLink(t, s.nats.URL())
	published := s.countPublications()
	p := s.startOn(s.relayURL(), wire.url, func(c *relayConfig) {
		c.Lease = 3 * time.Second
		c.AckTimeout = time.Minute
		c.Workers = 16
		c.Publisher = relay.PublisherAsync // a fast batch waits for an answer to its first event
	})
	s.start(func(c *relayConfig) { c.Lease = 3 * time.Second }) // would take what is lost
	s.awaitLanes(8, 8)
	s.stage("", 50)
	s.eventually("50 events settled", func() bool { return s.settled() == 50 })
	wire.holdReplies()
	s.stage("", 50)
	s.eventually("all events published", func() bool { n, _ := published.events(); return n == 100 })
	since := query[time.Time](s, "SELECT clock_timestamp()")
	s.eventually("three leases have passed", func() bool {
		return query[bool](s, "SELECT clock_timestamp() > $1::timestamptz + '9 s'", since)
	})
	wire.resume()
	s.eventually("100 events settled", func() bool { return s.settled() == 100 })
	if strings.Contains(p.logs.String(), "lanes lost") {
		t.Errorf("the relay lost lanes:\n%s", p.logs)
	}
	if _, repeated := published.events(); repeated != 0 {
		t.Errorf("%d publications were repeated", repeated)
	}
}

// TestSettledBatchesTellWhereTheirEventsAre compares outbox_batch with the stream: an
// acknowledgement that was taken for another event's would show.
func TestSettledBatchesTellWhereTheirEventsAre(t *testing.T) {
	t.Parallel()
	const condition = "(found.events, found.%s, found.last) IS DISTINCT FROM (b.events::bigint, %s, b.stream_seq_last)"
	t.Run("async", func(t *testing.T) {
		t.Parallel()
		newSetup(t).settledBatches(relay.PublisherAsync, fmt.Sprintf(condition, "first", "b.stream_seq_first"))
	})
	// Of a fast batch the last place is known, and one before the first.
	t.Run("fast", func(t *testing.T) {
		t.Parallel()
		s := newSetup(t)
		s.allowBatches()
		s.settledBatches(relay.PublisherFast, fmt.Sprintf(condition, "first", "found.first")+" OR b.stream_seq_first NOT BETWEEN 1 AND found.first")
	})
}

// settledBatches runs a relay and counts the batches that are wrong.
func (s *setup) settledBatches(kind relay.PublisherKind, isWrong string) {
	t := s.t
	for i := range 20 {
		s.stage("", 250)
		s.stage("hot", 5+i)
	}
	p := s.start(func(c *relayConfig) { c.BatchSize = 50; c.Publisher = kind })
	s.wantLogInStream()
	if n := relay.FastBatches(p.Relay); (n > 0) != (kind == relay.PublisherFast) {
		t.Errorf("%d batches were fast with %s", n, kind)
	}
	s.exec("CREATE TABLE stored (event_id text PRIMARY KEY, stream_seq bigint NOT NULL)")
	var ids []string
	var seqs []int64
	for _, m := range s.inStream() {
		ids, seqs = append(ids, m.ID()), append(seqs, int64(m.seq))
	}
	s.exec("INSERT INTO stored SELECT * FROM unnest($1::text[], $2::bigint[])", ids, seqs)
	wrong := query[int](s, `SELECT count(*) FROM outbox.outbox_batch b
		CROSS JOIN LATERAL (
			SELECT count(*) AS events, min(st.stream_seq) AS first, max(st.stream_seq) AS last
			  FROM outbox.event_outbox e JOIN stored st USING (event_id)
			 WHERE e.lane = b.lane AND e.seq BETWEEN b.seq_first AND b.seq_last
		) AS found
		WHERE `+isWrong)
	if wrong != 0 {
		t.Errorf("%d of %d batches are not where outbox_batch says", wrong, query[int](s, "SELECT count(*) FROM outbox.outbox_batch"))
	}
	if n, want := s.settled(), s.logged(); n != want {
		t.Errorf("%d events settled, want %d", n, want)
	}
}
