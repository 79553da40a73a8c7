package relay_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/holdfast-dev/holdfast/relay/retry"
)

// TestOneRefusedAmongManyDelaysOnlyItsKey: one of 100,000 events of 5,000 keys is refused. All others
// arrive while it waits, but for those behind it; once it is accepted its key is in order too.
func TestOneRefusedAmongManyDelaysOnlyItsKey(t *testing.T) {
	t.Parallel()
	const keys, rounds, refused = 5_000, 20, 7 // the refused one is the 8th of its key
	const poison = "key-2500"
	s := newSetup(t)
	s.limitMessages(4096)
	var want []string // of the key of the refused one
	for round := range rounds {
		list := make([]event.Event, keys)
		for n := range list {
			list[n] = events(fmt.Sprintf("key-%d", n), 1)[0]
			list[n].SetID(fmt.Sprintf("%d-%d", n, round))
		}
		if round == refused {
			list[2500].DataEncoded = bytes.Repeat([]byte("x"), 10_000)
			list[2500].SetDataContentType("text/plain")
		}
		want = append(want, s.stageTogether(list...)[2500])
	}
	p := s.start(func(c *relayConfig) {
		c.Lease, c.AckTimeout, c.Workers = 10*time.Second, 20*time.Second, 8
		c.Retry = retry.Policy{MaxRetries: 1_000_000, Initial: 20 * time.Millisecond, Max: 100 * time.Millisecond}
	})
	const others, behind = keys*rounds - (rounds - refused), rounds - refused
	s.eventually("all others arrive", func() bool { return s.settled() == others })
	s.eventually("it is tried again and again", func() bool {
		return query[int](s, "SELECT max(attempts) FROM outbox.outbox_retry") >= 3
	})
	if n := s.count(); n != others {
		t.Errorf("the stream has %d messages while one is refused, want %d", n, others)
	}
	waits := query[string](s, "SELECT string_agg(DISTINCT partition_key, ' ') || ' ' || count(*) FROM outbox.outbox_retry")
	if want := fmt.Sprintf("%s %d", poison, behind); waits != want {
		t.Errorf("what waits is %q, want %q", waits, want)
	}

	s.limitMessages(-1)
	s.eventually("the key has caught up", func() bool { return s.settled() == keys*rounds })
	s.compareWithLog()
	if got := ofKey(s.inStream(), poison); !slices.Equal(got, want) {
		t.Errorf("order of the key:\n got %v\nwant %v", got, want)
	}
	if n := query[int](s, "SELECT count(*) FROM outbox.outbox_dead_letter"); n != 0 {
		t.Errorf("%d dead letters", n)
	}
	if err := p.stopAndWait(); err != nil {
		t.Errorf("run: %v", err)
	}
}
