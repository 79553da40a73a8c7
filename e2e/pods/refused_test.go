package pods_test

import (
	"strings"
)

// fewRetries is the setting under which an event is given up after three attempts.
const fewRetries = "RELAY_REFUSED_RETRIES=2"

// isRetry says whether the crash concerns events that the broker refused.
func (c crash) isRetry() bool {
	for _, prefix := range []string{"retry-", "record-", "dead-letter-", "lost-"} {
		if strings.HasPrefix(c.point, prefix) {
			return true
		}
	}
	return false
}

// refuse commits load in which the middle event of a key is refused, beside others.
func (s *site) refuse() {
	s.t.Helper()
	s.refuseLarge(true)
	s.commit(0, "poison", "poison")
	s.commit(2*small, "poison")
	s.commit(0, "poison", "poison", "poison")
	s.load()
}

func (s *site) waiting() int {
	s.t.Helper()
	return query[int](s, "SELECT count(*) FROM outbox.outbox_retry")
}

// attempts returns how often the head of the key was refused, as it is counted.
func (s *site) attempts() int {
	s.t.Helper()
	return query[int](s, "SELECT coalesce(max(attempts), 0) FROM outbox.outbox_retry")
}

// whileRefused dies while an event is refused again and again; then the limit is lifted.
func whileRefused(s *site, c crash) int {
	s.refuse()
	s.doomed(c, "RELAY_ACK_TIMEOUT=1s").dies(c.point)
	before := s.attempts()
	next := s.start("next")
	s.eventually("the others arrive, and the key waits", func() bool { return s.waiting() == 4 && s.settled() == int64(s.total()-4) })
	s.eventually("further attempts are counted", func() bool { return s.attempts() >= before+2 })
	next.stop()
	s.refuseLarge(false)
	return 0
}

// whileRefusedInAnOutage dies with claims of which nothing is known, because the broker went.
func whileRefusedInAnOutage(s *site, c crash) int {
	s.refuse()
	r := s.doomed(c, "RELAY_ACK_TIMEOUT=1s")
	s.eventually("the key waits", func() bool { return s.waiting() == 4 && s.settled() == int64(s.total()-4) })
	s.nats.Stop()
	r.dies(c.point)
	before := s.attempts()
	if err := s.nats.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.eventually("the stream answers", func() bool { _, err := s.js.Stream(s.t.Context(), streamName); return err == nil })
	if after := s.attempts(); after != before {
		s.t.Errorf("%d attempts became %d in an outage", before, after)
	}
	s.refuseLarge(false)
	return 0
}

// whenAccepted dies when the limit was lifted and the event accepted. Until then a relay that
// lives has it refused.
func whenAccepted(s *site, c crash) int {
	s.refuse()
	first := s.start("first")
	s.eventually("the key waits", func() bool { return s.waiting() == 4 && s.settled() == int64(s.total()-4) })
	first.stop()
	s.refuseLarge(false)
	s.doomed(c, "RELAY_ACK_TIMEOUT=1s").dies(c.point)
	return 0
}

// whileALostHeadIsFound: events are parked, and what they wait for is gone, as when its row left
// while they were parked.
func whileALostHeadIsFound(s *site, c crash) int {
	s.refuse()
	first := s.start("first")
	s.eventually("the key waits", func() bool { return s.waiting() == 4 && s.settled() == int64(s.total()-4) })
	first.stop()
	s.refuseLarge(false)
	s.exec("UPDATE outbox.outbox_retry SET next_visible_at = 'infinity'")
	s.doomed(c).dies(c.point)
	return 0
}

// whenGivenUp dies while the event becomes a dead letter, which it does in the end with as many
// attempts as were recorded.
func whenGivenUp(s *site, c crash) int {
	s.refuse()
	s.doomed(c, "RELAY_ACK_TIMEOUT=1s", fewRetries).dies(c.point)
	next := s.start("next", fewRetries)
	s.eventually("the event is given up", func() bool { return query[int](s, "SELECT count(*) FROM outbox.outbox_dead_letter") == 1 })
	s.eventually("its key goes on", func() bool { return s.waiting() == 0 })
	next.stop()
	row := query[string](s, "SELECT attempts || ' ' || reason_code FROM outbox.outbox_dead_letter")
	if row != "3 message_too_large" {
		s.t.Errorf("the dead letter has %s, want 3 attempts", row)
	}
	if n := query[int](s, "SELECT count(*) FROM outbox.outbox_dead_letter_history"); n != 1 {
		s.t.Errorf("its death is told %d times", n)
	}
	return 1
}
