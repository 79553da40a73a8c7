package consumerstest

import (
	"context"
	"fmt"
	"sync"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/holdfast-dev/holdfast/consumers"
	"github.com/holdfast-dev/holdfast/consumers/facts"
)

// cases are what happens to consumers.
var cases = []struct {
	name string
	run  func(*round)
}{
	{"redelivery", redelivery},
	{"two facts", twoFacts},
	{"concurrent delivery", concurrentDelivery},
	{"two events of one fact", twoEvents},
	{"two events of one fact at once", twoEventsAtOnce},
	{"crash before the commit", crashBeforeCommit},
	{"crash after the commit", crashAfterCommit},
	{"attribute mismatch", attributeMismatch},
	{"effect without inbox", effectWithoutInbox},
	{"inbox without effect", inboxWithoutEffect},
	{"replay after years", replayAfterYears},
}

// deliveries is how many come at once.
const deliveries = 100

func (r *round) deliver(e event.Event) (consumers.Result, error) { return r.applier.Apply(r.ctx, e) }

// first applies a fact, which every case but the first begins with.
func (r *round) first(n int) bool {
	got, err := r.deliver(r.Event(n))
	r.want("the first delivery", got, err, consumers.Applied)
	return err == nil
}

// redelivery: the broker delivers again what was acknowledged.
func redelivery(r *round) {
	r.first(1)
	for range 3 {
		got, err := r.deliver(r.Event(1))
		r.want("a redelivery", got, err, consumers.Replayed)
	}
	r.wantEffects(1)
}

// twoFacts: a key that is too coarse makes one of both.
func twoFacts(r *round) {
	r.first(1)
	got, err := r.deliver(r.Event(2))
	r.want("another fact", got, err, consumers.Applied)
	r.wantEffects(2)
}

// concurrentDelivery: the losers wait, and every delivery can be acknowledged.
func concurrentDelivery(r *round) {
	r.atOnce(func(int) event.Event { return r.Event(1) })
}

func twoEventsAtOnce(r *round) {
	r.atOnce(func(i int) event.Event {
		if i%2 == 0 {
			return r.Event(1)
		}
		return r.Same(1)
	})
}

func (r *round) atOnce(of func(int) event.Event) {
	results, errs := make([]consumers.Result, deliveries), make([]error, deliveries)
	var all sync.WaitGroup
	for i := range deliveries {
		all.Go(func() { results[i], errs[i] = r.deliver(of(i)) })
	}
	all.Wait()
	count := map[string]int{}
	for i := range deliveries {
		if errs[i] != nil {
			count[fmt.Sprint("the error ", errs[i])]++
		} else {
			count[string(results[i].Outcome)]++
		}
	}
	if count[string(consumers.Applied)] != 1 || count[string(consumers.Replayed)] != deliveries-1 {
		r.problem("of %d deliveries at once are %v, want one applied and the others replayed", deliveries, count)
	}
	r.wantEffects(1)
}

// twoEvents: the producer tells the fact again, or another type of event tells it.
func twoEvents(r *round) {
	r.first(1)
	got, err := r.deliver(r.Same(1))
	r.want("another event of the same fact", got, err, consumers.Replayed)
	r.wantEffects(1)
}

// crashBeforeCommit: all or nothing is left, and the next delivery applies it.
func crashBeforeCommit(r *round) {
	dies, err := r.with(func(ctx context.Context, tx *facts.Tx, e event.Event) error {
		if err := r.Handler(ctx, tx, e); err != nil {
			return err
		}
		return errCrash
	})
	if err != nil {
		r.problem("prepare the case: %v", err)
		return
	}
	if _, err := dies.Apply(r.ctx, r.Event(1)); err == nil {
		r.problem("a delivery that was rolled back can be acknowledged")
	}
	r.wantEffects(0)
	r.first(1)
	r.wantEffects(1)
}

// crashAfterCommit: the broker does not know, and delivers again.
func crashAfterCommit(r *round) {
	r.first(1)
	again, err := r.with(r.Handler) // as another process
	if err != nil {
		r.problem("prepare the case: %v", err)
		return
	}
	got, err := again.Apply(r.ctx, r.Event(1))
	r.want("the delivery after the crash", got, err, consumers.Replayed)
	r.wantEffects(1)
}

// attributeMismatch: the fact is told in another way, has no second effect and changes nothing.
func attributeMismatch(r *round) {
	if r.NoAttributes {
		return
	}
	r.first(1)
	got, err := r.deliver(r.Mismatch(1))
	r.want("the same fact told in another way", got, err, consumers.Quarantined)
	r.wantEffects(1)
	got, err = r.deliver(r.Event(1))
	r.want("the fact as it was told first", got, err, consumers.Replayed)
}

// effectWithoutInbox: the audit was lost; the effect is proven and the inbox healed.
func effectWithoutInbox(r *round) {
	r.first(1)
	r.exec("DELETE FROM " + r.schema() + ".consumer_inbox")
	got, err := r.deliver(r.Event(1))
	r.want("a redelivery without an inbox row", got, err, consumers.Replayed)
	r.wantEffects(1)
	var n int
	if err := r.db.QueryRow(r.ctx, "SELECT count(*) FROM "+r.schema()+".consumer_inbox WHERE processed_at IS NOT NULL").Scan(&n); err != nil || n != 1 {
		r.problem("the inbox has %d rows (%v), want it healed", n, err)
	}
}

// inboxWithoutEffect: whatever the inbox says, nothing is acknowledged without the effect.
func inboxWithoutEffect(r *round) {
	if !r.first(1) {
		return
	}
	if err := r.Remove(r.ctx, r.db); err != nil {
		r.problem("prepare the case: %v", err)
		return
	}
	if got, err := r.deliver(r.Event(1)); err == nil {
		r.problem("a delivery whose effect is gone can be acknowledged: it is %s", got.Outcome)
	}
	if n, err := r.Count(r.ctx, r.db); err != nil || n != 0 {
		r.problem("a fact that is known was applied again: %d effects (%v)", n, err)
	}
}

// replayAfterYears: every retention is over, and only facts and effects are left.
func replayAfterYears(r *round) {
	r.first(1)
	r.exec("DELETE FROM " + r.schema() + ".consumer_inbox")
	r.exec("DELETE FROM " + r.schema() + ".consumer_dead_letter")
	old := r.Event(1)
	old.SetExtension("replayed", "years")
	got, err := r.deliver(old)
	r.want("a replay after years", got, err, consumers.Replayed)
	same, err := r.deliver(r.Same(1))
	r.want("another event of the fact, after years", same, err, consumers.Replayed)
	r.wantEffects(1)
}
