package main

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// tenMinutes is how often a message is delivered in ten minutes at the default pauses of an outage:
// 1, 2, 4, 8 and 16 seconds, and then 30 seconds at most, half of it by chance. The pauses of these
// tests are shorter, and their number is what counts; it is more than the attempts that a failure has.
const tenMinutes = 30

// TestTenMinutesWithoutADependency: no allowance is granted, none is given up, no attempt is counted, and
// everything is granted when the rate is there.
func TestTenMinutesWithoutADependency(t *testing.T) {
	t.Parallel()
	s := newSite(t, outboxtest.NewDatabase(t))
	const placements = 12
	for n := range placements {
		s.publish(activated(n), fmt.Sprint(n))
	}
	p := s.start("pod", "perdiem")
	waited := regexp.MustCompile(`waits for something that is away.* delivery=(\d+) event_id=(act_\d+)`)
	s.eventually("ten minutes are over for each of them", func() bool {
		ids := map[string]bool{}
		for _, m := range waited.FindAllStringSubmatch(p.said(), -1) {
			// One delivery may be lost on its way, and count all the same.
			if n, err := strconv.Atoi(m[1]); err == nil && n >= tenMinutes {
				ids[m[2]] = true
			}
		}
		return len(ids) == placements
	})
	for _, table := range []string{"consumer_fact", "consumer_inbox", "consumer_dead_letter", "consumer_dead_letter_history"} {
		if n := query[int](s, "SELECT count(*) FROM outbox."+table); n != 0 {
			t.Errorf("%d rows in %s, want none of an outage", n, table)
		}
	}
	s.publish(rate(1, 2800), "")
	s.settled("perdiem")
	p.stop()
	if got := query[string](s, "SELECT count(*) || ' of ' || sum(cents) FROM perdiem.allowance"); got != fmt.Sprintf("%d of %d", placements, placements*5*2800) {
		t.Errorf("allowances are %s", got)
	}
	if n := query[int](s, "SELECT count(*) FROM outbox.consumer_inbox WHERE deliveries <> 1"); n != 0 {
		t.Errorf("%d events count deliveries of the outage", n)
	}
	if n := query[int](s, "SELECT count(*) FROM outbox.consumer_dead_letter"); n != 0 {
		t.Errorf("%d dead letters of an outage", n)
	}
}
