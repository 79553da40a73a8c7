package relay_test

import (
	"strings"
	"testing"
	"time"
)

// TestIdleRelayCostsNextToNothing watches a relay with the settings of production that has
// nothing to do: it writes nothing but its renewals, and hardly uses the processor.
func TestIdleRelayCostsNextToNothing(t *testing.T) {
	t.Parallel()
	s, _ := newSetupIn(t, nil) // transaction ids are counted for the whole cluster
	c := s.startChild(func(c *relayConfig) { *c = relayConfig{Stream: streamName} })
	s.stage("k", 10)
	s.eventually("10 events settled", 20*time.Second, func() bool { return s.settled() == 10 })
	s.eventually("ready", 20*time.Second, func() bool { return c.ready() == "" })

	const watch = 7 * time.Second // two renewals, three at most
	xid := func() int64 { return query[int64](s, "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint") }
	start, xids, cpu, lines := time.Now(), xid(), c.cpu(), c.logs.lines()
	s.eventually("some time has passed", 2*watch, func() bool { return time.Since(start) >= watch })
	if n := xid() - xids; n < 2 || n > 3 {
		t.Errorf("%d transactions wrote something in %s, want the 2 or 3 renewals", n, watch)
	}
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
	p := s.startOn(s.relayURL(), wire.url, func(c *relayConfig) { c.Lease = time.Second; c.AckTimeout = time.Minute; c.Workers = 16 })
	s.start(func(c *relayConfig) { c.Lease = time.Second }) // would take what is lost
	s.awaitLanes(10*time.Second, 8, 8)
	s.stage("", 50)
	s.eventually("50 events settled", 10*time.Second, func() bool { return s.settled() == 50 })
	wire.holdReplies()
	s.stage("", 50)
	s.eventually("all events published", 10*time.Second, func() bool { n, _ := published.events(); return n == 100 })
	since := query[time.Time](s, "SELECT clock_timestamp()")
	s.eventually("three leases have passed", 20*time.Second, func() bool {
		return query[bool](s, "SELECT clock_timestamp() > $1::timestamptz + '3 s'", since)
	})
	wire.resume()
	s.eventually("100 events settled", 10*time.Second, func() bool { return s.settled() == 100 })
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
	s := newSetup(t)
	for i := range 20 {
		s.stage("", 250)
		s.stage("hot", 5+i)
	}
	s.start(func(c *relayConfig) { c.BatchSize = 50 })
	s.wantLogInStream(30 * time.Second)
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
		WHERE (found.events, found.first, found.last) IS DISTINCT FROM (b.events::bigint, b.stream_seq_first, b.stream_seq_last)`)
	if wrong != 0 {
		t.Errorf("%d of %d batches are not where outbox_batch says", wrong, query[int](s, "SELECT count(*) FROM outbox.outbox_batch"))
	}
	if n, want := s.settled(), s.logged(); n != want {
		t.Errorf("%d events settled, want %d", n, want)
	}
}
