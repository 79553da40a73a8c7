package consumers_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/holdfast-dev/holdfast/consumers/facts"
	"github.com/holdfast-dev/holdfast/outbox"
)

// TestFactEffectAndInboxAreWritten, and the message is acknowledged.
func TestFactEffectAndInboxAreWritten(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(apply, b.config())
	b.some(5)
	b.wait("five effects", func() bool { return b.count("public.refund") == 5 })
	b.settled()
	b.wantEffects(5)
	if n := query[int](b, "SELECT count(*)::int FROM outbox.consumer_inbox WHERE consumer = 'ledger' AND processed_at IS NOT NULL AND deliveries = 1")[0]; n != 5 {
		t.Errorf("%d deliveries are in the inbox, want 5", n)
	}
	b.wait("five deliveries are counted", func() bool { return b.deliveries("applied") == 5 })
	if all := b.deliveries(""); all != 5 {
		t.Errorf("%v outcomes of 5 deliveries", all)
	}
}

// TestTwoEventTypesOfOneFact, with two ids and other headers, have one effect.
func TestTwoEventTypesOfOneFact(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(apply, b.config())
	same := refund{ID: "re_1", Account: "acct_1", Amount: 500}
	b.publish("event-1", "refund.made", same)
	b.publish("event-2", "charge.refunded", same, func(r *outbox.Record) { r.PartitionKey, r.Subject = "another", "attempt/7" })
	b.publish("event-1", "refund.made", same)
	b.wait("three deliveries", func() bool { return b.deliveries("applied")+b.deliveries("replayed") == 3 })
	b.settled()
	b.wantEffects(1)
	if n := b.deliveries("replayed"); n != 2 {
		t.Errorf("%v were replayed, want 2", n)
	}
}

// TestHundredDeliveriesOfOneFactAtOnce: losers wait, prove and are acknowledged, and the server logs no error.
func TestHundredDeliveriesOfOneFactAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cfg := b.config()
	cfg.Concurrency, cfg.Buffer = 12, 100
	cfg.Key = func(event.Event) string { return "" } // at once, not one after the other
	for i := range 100 {
		b.publish(fmt.Sprint("event-", i%50), "refund.made", refund{ID: "re_1", Account: "acct_1", Amount: 500})
	}
	b.run(apply, cfg)
	b.wait("all are acknowledged", func() bool { return b.deliveries("applied")+b.deliveries("replayed") == 100 })
	b.settled()
	b.wantEffects(1)
	if log := b.ServerLog(t); strings.Contains(log, "ERROR") {
		t.Errorf("the server logged errors:\n%s", log)
	}
}

// TestMismatchIsQuarantined: same key and other attributes is quarantine, the same is a replay, another key is new.
func TestMismatchIsQuarantined(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(apply, b.config())
	b.publish("event-1", "refund.made", refund{ID: "re_1", Account: "acct_1", Amount: 500})
	b.wait("the fact is known", func() bool { return b.deliveries("applied") == 1 })
	b.publish("event-2", "refund.made", refund{ID: "re_1", Account: "acct_1", Amount: 501})
	b.publish("event-2", "refund.made", refund{ID: "re_1", Account: "acct_1", Amount: 501})
	b.publish("event-3", "refund.made", refund{ID: "re_1", Account: "acct_1", Amount: 500})
	b.publish("event-4", "refund.made", refund{ID: "re_1", Account: "acct_2", Amount: 500})
	b.wait("all deliveries", func() bool { return b.deliveries("") == 5 })
	b.settled()
	b.wantEffects(2)
	if q, r, a := b.deliveries("quarantined"), b.deliveries("replayed"), b.deliveries("applied"); q != 2 || r != 1 || a != 2 {
		t.Errorf("%v quarantined, %v replayed, %v applied, want 2, 1, 2", q, r, a)
	}
	kept := query[string](b, "SELECT event_id || ' ' || reason || ' ' || state || ' ' || (difference ? 'amount') FROM outbox.consumer_quarantine")
	if len(kept) != 1 || kept[0] != "event-2 attribute_mismatch open true" {
		t.Errorf("quarantine has %q", kept)
	}
	if log := b.log.String(); !strings.Contains(log, "it is in quarantine") || strings.Contains(log, "501") {
		t.Error("no alarm was logged, or one with a value in it")
	}
	if n := b.metric("holdfast.consumer.facts", "mismatch"); n != 2 {
		t.Errorf("%v mismatches were counted, want 2", n)
	}
}

// TestStrictKeepsTheMessage until somebody has resolved its quarantine.
func TestStrictKeepsTheMessage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cfg := b.config()
	cfg.Strict, cfg.Attempts = true, 2
	b.run(apply, cfg)
	b.publish("event-1", "refund.made", refund{ID: "re_1", Account: "acct_1", Amount: 500})
	b.wait("the fact is known", func() bool { return b.deliveries("applied") == 1 })
	b.publish("event-2", "refund.made", refund{ID: "re_1", Account: "acct_1", Amount: 501})
	b.wait("it comes again and again", func() bool { return b.deliveries("quarantined") > 4 })
	b.exec("UPDATE outbox.consumer_quarantine SET state = 'resolved', resolved_at = now(), resolved_by = 'me', resolution = 'the first is right'")
	b.settled()
	b.wantEffects(1)
	if b.count("outbox.consumer_quarantine") != 1 || b.count("outbox.consumer_dead_letter") != 0 {
		t.Error("a mismatch has one row in quarantine and is no dead letter")
	}
}

// TestEffectWithoutInboxIsHealed in the transaction of the delivery.
func TestEffectWithoutInboxIsHealed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(apply, b.config())
	b.some(1)
	b.wait("applied", func() bool { return b.deliveries("applied") == 1 })
	b.exec("DELETE FROM outbox.consumer_inbox")
	b.next = 0
	b.some(1)
	b.wait("replayed", func() bool { return b.deliveries("replayed") == 1 })
	b.settled()
	b.wantEffects(1)
	if n := query[int](b, "SELECT count(*)::int FROM outbox.consumer_inbox WHERE processed_at IS NOT NULL")[0]; n != 1 {
		t.Errorf("the inbox has %d rows, want one again", n)
	}
}

// TestInboxWithoutEffectIsNeverAcknowledged: it fails, and is written down at last.
func TestInboxWithoutEffectIsNeverAcknowledged(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cfg := b.config()
	cfg.Attempts = 3
	b.run(apply, cfg)
	b.some(1)
	b.wait("applied", func() bool { return b.deliveries("applied") == 1 })
	b.exec("DELETE FROM public.refund")
	b.next = 0
	b.some(1)
	b.wait("it is given up", func() bool { return b.deliveries("dead") == 1 })
	b.settled()
	if a, r, u := b.deliveries("applied"), b.deliveries("replayed"), b.deliveries("unproven"); a != 1 || r != 0 || u != 2 {
		t.Errorf("%v applied, %v replayed, %v unproven, want 1, 0, 2", a, r, u)
	}
	if got := query[string](b, "SELECT event_id || ' ' || reason_code || ' ' || attempts FROM outbox.consumer_dead_letter"); len(got) != 1 || got[0] != "event-1 exhausted 3" {
		t.Errorf("dead letters are %q", got)
	}
	if n := b.count("outbox.consumer_inbox"); n != 0 {
		t.Errorf("the inbox still says of %d events that they were processed", n)
	}
}

// TestHandlersThatProveNothing leave nothing behind, neither facts nor acknowledgements.
func TestHandlersThatProveNothing(t *testing.T) {
	t.Parallel()
	claimOnly := func(ctx context.Context, tx *facts.Tx, e event.Event) error {
		fact, _, err := factOf(e)
		if err != nil {
			return err
		}
		_, err = facts.Claim(ctx, tx, fact)
		return err
	}
	for name, handle := range map[string]func(context.Context, *facts.Tx, event.Event) error{
		"no fact":   func(context.Context, *facts.Tx, event.Event) error { return nil },
		"no effect": claimOnly,
		"a caught unique violation": func(ctx context.Context, tx *facts.Tx, e event.Event) error {
			if err := claimOnly(ctx, tx, e); err != nil {
				return err
			}
			_, _ = tx.Exec(ctx, "INSERT INTO outbox.consumer_inbox (consumer, event_source, event_id) VALUES ('x', 'x', 'x'), ('x', 'x', 'x')")
			return nil
		},
		"a violation caught in a savepoint": func(ctx context.Context, tx *facts.Tx, e event.Event) error {
			if err := claimOnly(ctx, tx, e); err != nil {
				return err
			}
			inner, err := tx.Begin(ctx)
			if err != nil {
				return err
			}
			_, _ = inner.Exec(ctx, "INSERT INTO outbox.consumer_inbox (consumer, event_source, event_id) VALUES ('x', 'x', 'x'), ('x', 'x', 'x')")
			return inner.Rollback(ctx)
		},
		"another amount": func(ctx context.Context, tx *facts.Tx, e event.Event) error {
			if err := claimOnly(ctx, tx, e); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, "INSERT INTO public.refund (fact_id, account, amount) VALUES ($1, 'acct_1', 7)", tx.Claims()[0].ID)
			return err
		},
		"another account": func(ctx context.Context, tx *facts.Tx, e event.Event) error {
			if err := claimOnly(ctx, tx, e); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, "INSERT INTO public.refund (fact_id, account, amount) VALUES ($1, 'acct_2', 500)", tx.Claims()[0].ID)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			cfg := b.config()
			cfg.Attempts = 2
			b.run(handle, cfg)
			b.some(1)
			b.wait("it is given up", func() bool { return b.deliveries("dead") == 1 })
			b.settled()
			b.wantEffects(0)
			if n := b.deliveries(""); n != 2 {
				t.Errorf("%v deliveries, want 2", n)
			}
		})
	}
}

// TestEventWithoutAFact is acknowledged when the handler says so.
func TestEventWithoutAFact(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(func(_ context.Context, tx *facts.Tx, _ event.Event) error {
		facts.None(tx)
		return nil
	}, b.config())
	b.some(2)
	b.wait("both are ignored", func() bool { return b.deliveries("ignored") == 2 })
	b.settled()
	b.wantEffects(0)
	if n := b.count("outbox.consumer_inbox"); n != 2 {
		t.Errorf("the inbox has %d rows, want 2", n)
	}
}
