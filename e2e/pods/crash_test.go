package pods_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// crash is a way to die.
type crash struct {
	point   string
	nth     int    // which time it is reached; 0 is the first
	variant string // what is special, for the name of the test
	table   string // a line of a crash table that is not that of the point
	try     func(s *site, c crash) (dead int)
}

// crashes are all that are tried.
var crashes = []crash{
	{point: "lanes-claimed", try: whileDraining},
	{point: "batch-read", nth: 3, try: whileDraining},
	{point: "batch-parked", nth: 4, try: whileDraining},
	{point: "backlog-found", nth: 2, try: whileDraining},
	{point: "message-sent", nth: 23, try: whileDraining},
	{point: "wave-sent", nth: 5, try: whileDraining},
	{point: "message-acked", nth: 33, try: whileDraining},
	{point: "batch-published", try: whileDraining},
	{point: "batch-published", nth: 6, variant: "after others", try: whileDraining},
	{point: "settle-sent", nth: 3, try: whileDraining},
	{point: "settle-sent", variant: "rolled back", try: settleRolledBack},
	{point: "settle-committed", nth: 3, try: whileDraining},
	{point: "settle-committed", variant: "and the server with it", table: "settle lost with the server", try: settleLostWithTheServer},
	{point: "batch-settled", nth: 3, try: whileDraining},
	{point: "page-settled", try: whileDraining},
	{point: "page-settled", nth: 4, variant: "later", try: whileDraining},
	{point: "lanes-renewed", nth: 3, try: whileIdle},
	{point: "hand-back-begun", try: whileStopping},
	{point: "lanes-handed-back", try: whileStopping},
	{point: "looked-back", try: whileTakingOver},
	{point: "batch-published", variant: "stands still", table: "lease lost while publishing", try: leaseLost},

	{point: "retry-claimed", try: whileRefused},
	{point: "retry-published", nth: 2, try: whileRefused},
	{point: "record-refused", nth: 2, try: whileRefused},
	{point: "record-committed", nth: 3, try: whileRefused},
	{point: "retry-recorded", nth: 2, try: whileRefused},
	{point: "retry-let-go", try: whileRefusedInAnOutage},
	{point: "retry-published", variant: "accepted", try: whenAccepted},
	{point: "record-accepted", try: whenAccepted},
	{point: "record-promoted", try: whenAccepted},
	{point: "record-committed", variant: "accepted", try: whenAccepted},
	{point: "lost-promoted", try: whileALostHeadIsFound},
	{point: "dead-letter-taken-out", try: whenGivenUp},
	{point: "dead-letter-buried", try: whenGivenUp},
	{point: "record-committed", nth: 3, variant: "given up", try: whenGivenUp},
}

// TestCrashPoints has a relay die at each point, lets another one take over, and judges the whole.
func TestCrashPoints(t *testing.T) {
	t.Parallel()
	binary := build(t)
	for _, c := range crashes {
		name := c.point
		if c.variant != "" {
			name += "/" + c.variant
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newCrashSite(t, binary, c)
			dead := c.try(s, c)
			s.recover(dead)
		})
	}
}

// short is a dedup window that is over when a lane is taken over, so that one copy is the
// look-back's doing and not the broker's.
const short = 100 * time.Millisecond

// newCrashSite has a stream that forgets at once where that may make no difference: not for
// retries, which have no look-back, and not for what a process sends when it wakes up.
func newCrashSite(t *testing.T, binary string, c crash) *site {
	window := short
	if c.table == "lease lost while publishing" || c.isRetry() {
		window = 2 * time.Minute
	}
	if c.table != "settle lost with the server" {
		return newSite(t, binary, outboxtest.NewDatabase(t), window)
	}
	pg := outboxtest.NewCluster(t, harness.PostgresOptions{Settings: map[string]string{"wal_writer_delay": "10s"}})
	s := newSite(t, binary, outboxtest.NewDatabaseIn(t, pg), window)
	s.pg = pg
	return s
}

// doomed starts a relay that dies at the point.
func (s *site) doomed(c crash, settings ...string) *relay {
	s.t.Helper()
	return s.start("doomed", append([]string{
		"RELAY_LEASE=1s", "HOLDFAST_CRASH_AT=" + c.point, "HOLDFAST_CRASH_NTH=" + strconv.Itoa(max(c.nth, 1)),
	}, settings...)...)
}

// recover starts a relay that lives, and wants everything to be settled and as it must be.
func (s *site) recover(dead int) {
	s.t.Helper()
	healed := time.Now()
	heir := s.start("heir")
	s.load()
	s.eventually("everything is settled", func() bool { return s.late() == 0 })
	heir.stop()
	s.judge(healed, dead)
}

// whileDraining dies with a backlog.
func whileDraining(s *site, c crash) int {
	s.load()
	s.doomed(c).dies(c.point)
	return 0
}

// whileIdle dies when everything is settled.
func whileIdle(s *site, c crash) int {
	s.load()
	r := s.doomed(c)
	r.dies(c.point)
	return 0
}

// whileStopping dies at the end of a stop.
func whileStopping(s *site, c crash) int {
	s.load()
	r := s.doomed(c)
	s.eventually("a part is settled", func() bool { return s.settled() > 20 })
	_ = r.proc.Stop(within) // it does not end well
	r.dies(c.point)
	return 0
}

// whileTakingOver dies when it has looked back for what one before it left behind.
func whileTakingOver(s *site, c crash) int {
	s.load()
	s.start("first", "RELAY_LEASE=1s", "HOLDFAST_CRASH_AT=batch-published", "HOLDFAST_CRASH_NTH=2").dies("batch-published")
	s.doomed(c).dies(c.point)
	return 0
}

// settleRolledBack dies while its settle waits for a lock, and the settle with it.
func settleRolledBack(s *site, c crash) int {
	lock, err := s.db.Pool.Begin(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	defer lock.Rollback(s.t.Context()) //nolint:errcheck // done already
	if _, err := lock.Exec(s.t.Context(), "LOCK TABLE outbox.outbox_batch IN EXCLUSIVE MODE"); err != nil {
		s.t.Fatal(err)
	}
	s.load()
	s.doomed(c).dies(c.point)
	const waiting = "FROM pg_stat_activity WHERE application_name = 'doomed' AND datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '-- Moves the cursor%'"
	s.eventually("the settle waits", func() bool { return query[int](s, "SELECT count(*) "+waiting) > 0 })
	s.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'doomed' AND datname = current_database()")
	s.eventually("the sessions are gone", func() bool {
		return query[int](s, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'doomed' AND datname = current_database()") == 0
	})
	if err := lock.Rollback(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	if n := s.settled(); n != 0 {
		s.t.Fatalf("%d events are settled, it should have died before", n)
	}
	return 0
}

// settleLostWithTheServer dies after a settle, and then the server crashes, which loses it.
func settleLostWithTheServer(s *site, c crash) int {
	for try := range 10 {
		s.load()
		before := s.settled()
		r := s.start("doomed-"+strconv.Itoa(try), "RELAY_LEASE=1s", "HOLDFAST_CRASH_AT="+c.point)
		r.dies(c.point)
		reached := s.settled()
		if err := s.pg.Stop(s.t.Context(), "immediate"); err != nil {
			s.t.Fatal(err)
		}
		if err := s.pg.Start(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
		s.db.Pool.Reset()
		if after := s.settled(); reached > before && after < reached {
			return 0
		}
	}
	s.t.Fatal("no crash lost a settle, so nothing was tested")
	return 0
}

// leaseLost stands still between the acknowledgement and the settle for longer than its lease,
// and goes on when another relay has the lane.
func leaseLost(s *site, c crash) int {
	s.load()
	r := s.doomed(c, "HOLDFAST_CRASH_SIGNAL=STOP")
	r.reaches(c.point)
	other := s.start("other")
	s.eventually("everything is settled", func() bool { return s.late() == 0 })
	if err := r.proc.Resume(); err != nil {
		s.t.Fatal(err)
	}
	s.eventually("it noticed", func() bool { return strings.Contains(r.said(), "lanes lost") })
	s.load()
	s.eventually("everything is settled again", func() bool { return s.late() == 0 })
	r.stop()
	other.stop()
	return 0
}
