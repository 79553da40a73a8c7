package relay_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/relay"
	"github.com/holdfast-dev/holdfast/relay/retry"
)

// TestEightRelaysDoNotBlockOneAnother: eight relays share lanes and retries under load, while some of them
// come and go. Looking and claiming never waits for a lock of another relay, and nothing
// waits for one that another keeps from one statement to the next. (A claim that meets a row
// which was claimed a moment ago has it locked until the claim is over, so recording may wait
// for that one statement.)
func TestEightRelaysDoNotBlockOneAnother(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.limitMessages(4096)
	for i := range 60 { // their retries go on all the time
		s.stageLarge(fmt.Sprint("large-", i), 6000)
	}
	config := func(c *relay.Config) {
		c.BatchSize = 20
		c.Lease = 10 * time.Second
		c.Retry = retry.Policy{MaxRetries: 1000, Initial: 5 * time.Millisecond, Max: 10 * time.Millisecond}
	}
	pods := make([]*pod, 8)
	names := make([]string, len(pods))
	for i := range pods {
		pods[i] = s.start(config)
		names[i] = pods[i].name
	}
	s.awaitLanes(2, 2, 2, 2, 2, 2, 2, 2)
	l := s.startLoad(4)
	looks, turn := 0, 0
	s.eventually("1,500 events settled and two relays replaced", func() bool {
		if looks++; looks%40 == 0 { // its lanes move
			i := turn % len(pods)
			turn++
			if err := pods[i].stopAndWait(); err != nil {
				t.Errorf("run: %v", err)
			}
			pods[i] = s.start(config)
			names[i] = pods[i].name
		}
		// Among themselves: the load is not theirs. A page that is being added to the table is held for that moment only.
		if who := query[string](s, `SELECT coalesce(string_agg(w.query || ' waits (' || w.wait_event || ') for ' || b.state || ' ' || b.query, E'\n'), '')
			  FROM pg_stat_activity w CROSS JOIN LATERAL unnest(pg_blocking_pids(w.pid)) AS by (pid) JOIN pg_stat_activity b ON b.pid = by.pid
			 WHERE w.wait_event_type = 'Lock' AND w.wait_event <> 'extend' AND w.application_name = ANY ($1) AND b.application_name = ANY ($1)
			   AND w.application_name <> b.application_name
			   AND (b.state = 'idle in transaction' OR w.query LIKE '-- Claims due rows%' OR w.query LIKE '-- Takes up to%' OR w.query LIKE '-- Which of these lanes%')`, names); who != "" {
			t.Errorf("a relay waits for another:\n%s", who)
			return true
		}
		return s.settled() >= 1500 && turn >= 2
	})
	t.Logf("looked %d times, %d relays were replaced", looks, turn)
	l.stop()
	s.limitMessages(-1)
	s.wantLogInStream()
}
