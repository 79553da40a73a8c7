package consumerstest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/consumers"
	"github.com/holdfast-dev/holdfast/consumers/consumerstest"
	"github.com/holdfast-dev/holdfast/consumers/facts"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

type refund struct {
	Refund, Account string
	Amount          int64
}

func tells(id, eventType string, r refund) event.Event {
	e := event.New()
	e.SetID(id)
	e.SetSource("/provider")
	e.SetType(eventType)
	if err := e.SetData("application/json", r); err != nil {
		panic(err)
	}
	return e
}

func fact(e event.Event) (facts.Fact, refund, error) {
	var r refund
	if err := json.Unmarshal(e.Data(), &r); err != nil {
		return facts.Fact{}, r, consumers.Permanent(err)
	}
	key, err := facts.NewKey(facts.ID("refund", r.Refund))
	return facts.Fact{Source: "provider", Account: r.Account, Type: "refund", Key: key, Attributes: map[string]string{"amount": fmt.Sprint(r.Amount)}}, r, err
}

const insert = "INSERT INTO public.refund (fact_id, account, amount) VALUES ($1, $2, $3)"

// sound is a handler as it should be.
func sound(ctx context.Context, tx *facts.Tx, e event.Event) error {
	f, r, err := fact(e)
	if err != nil {
		return err
	}
	claimed, err := facts.Claim(ctx, tx, f)
	if err != nil || claimed.Outcome != facts.Applied {
		return err
	}
	_, err = tx.Exec(ctx, insert, claimed.ID, r.Account, r.Amount)
	return err
}

// open makes a database; the effect's constraints are the service's own, or missing.
func open(constraints string, pools ...**pgxpool.Pool) func(testing.TB) *pgxpool.Pool {
	return func(t testing.TB) *pgxpool.Pool {
		t.Helper()
		db := outboxtest.NewDatabase(t)
		if _, err := db.Pool.Exec(t.Context(), "CREATE TABLE public.refund (fact_id bigint "+constraints+", account text NOT NULL, amount bigint NOT NULL)"); err != nil {
			t.Fatal(err)
		}
		for _, p := range pools {
			*p = db.Pool
		}
		return db.Pool
	}
}

const asItShouldBe = "NOT NULL UNIQUE REFERENCES outbox.consumer_fact (id)"

func subject(handler consumers.Handler) consumerstest.Subject {
	return consumerstest.Subject{
		Open: open(asItShouldBe), Handler: handler,
		Config: consumers.Config{Name: "refunds", Effects: map[string]consumers.Effect{
			"refund": {Table: "public.refund", Account: "account", Attributes: map[string]string{"amount": "amount"}},
		}},
		Event: func(n int) event.Event {
			return tells(fmt.Sprint("made-", n), "refund.made", refund{fmt.Sprint("re_", n), "acct_1", 500})
		},
		Same: func(n int) event.Event {
			return tells(fmt.Sprint("charge-", n), "charge.refunded", refund{fmt.Sprint("re_", n), "acct_1", 500})
		},
		Mismatch: func(n int) event.Event {
			return tells(fmt.Sprint("wrong-", n), "refund.made", refund{fmt.Sprint("re_", n), "acct_1", 501})
		},
	}
}

func TestSoundHandler(t *testing.T) {
	t.Parallel()
	consumerstest.Run(t, subject(sound))
}

// wantProblem runs cases of a broken handler, and wants each of them to find something.
func wantProblem(t *testing.T, s consumerstest.Subject, text string, names ...string) {
	t.Helper()
	for _, name := range names {
		found := consumerstest.Check(t, s, name)
		if len(found) == 0 {
			t.Errorf("the case %q finds nothing wrong with the handler", name)
		}
		if !slices.ContainsFunc(found, func(p consumerstest.Problem) bool { return strings.Contains(p.Error(), text) }) {
			t.Errorf("the case %q finds %v, want something with %q", name, found, text)
		}
	}
}

// keyed is a handler with a key of its own choice.
func keyed(key func(event.Event, refund) string) consumers.Handler {
	return func(ctx context.Context, tx *facts.Tx, e event.Event) error {
		f, r, err := fact(e)
		if err != nil {
			return err
		}
		if f.Key, err = facts.NewKey(facts.ID("refund", key(e, r))); err != nil {
			return err
		}
		claimed, err := facts.Claim(ctx, tx, f)
		if err != nil || claimed.Outcome != facts.Applied {
			return err
		}
		_, err = tx.Exec(ctx, insert, claimed.ID, r.Account, r.Amount)
		return err
	}
}

func TestHandlerThatKeysByTheEventID(t *testing.T) {
	t.Parallel()
	wantProblem(t, subject(keyed(func(e event.Event, _ refund) string { return "of " + e.ID() })), "is applied, want replayed", "two events of one fact", "replay after years")
	wantProblem(t, subject(keyed(func(e event.Event, _ refund) string { return e.ID() })), "contains the id of the event", "redelivery")
}

func TestHandlerThatKeysByTheTypeOfTheEvent(t *testing.T) {
	t.Parallel()
	wantProblem(t, subject(keyed(func(e event.Event, r refund) string { return r.Refund + e.Type() })), "want 1", "two events of one fact at once")
}

func TestHandlerWhoseKeyHasAnAttribute(t *testing.T) {
	t.Parallel()
	wantProblem(t, subject(keyed(func(_ event.Event, r refund) string { return fmt.Sprint(r.Refund, r.Amount) })), "is applied, want quarantined", "attribute mismatch")
}

func TestHandlerWhoseKeyIsTooCoarse(t *testing.T) {
	t.Parallel()
	wantProblem(t, subject(keyed(func(_ event.Event, r refund) string { return r.Account })), "is replayed, want applied", "two facts")
}

// TestHandlerThatWritesOutsideTheTransaction of a table without constraints: the effect stays
// when the transaction does not.
func TestHandlerThatWritesOutsideTheTransaction(t *testing.T) {
	t.Parallel()
	var pool *pgxpool.Pool
	s := subject(func(ctx context.Context, tx *facts.Tx, e event.Event) error {
		f, r, err := fact(e)
		if err != nil {
			return err
		}
		claimed, err := facts.Claim(ctx, tx, f)
		if err != nil || claimed.Outcome != facts.Applied {
			return err
		}
		_, err = pool.Exec(ctx, insert, claimed.ID, r.Account, r.Amount)
		return err
	})
	s.Open = open("NOT NULL", &pool)
	wantProblem(t, s, "there are 1 effects, want 0", "crash before the commit")
}

func TestHandlerWithoutAFact(t *testing.T) {
	t.Parallel()
	wantProblem(t, subject(func(ctx context.Context, tx *facts.Tx, e event.Event) error {
		return nil
	}), "claimed no fact", "redelivery")
	s := subject(func(ctx context.Context, tx *facts.Tx, e event.Event) error {
		facts.None(tx)
		_, err := tx.Exec(ctx, insert, nil, "acct_1", 500)
		return err
	})
	s.Open = open("")
	wantProblem(t, s, "is ignored, want replayed", "redelivery", "effect without inbox")
}

func TestHandlerWithoutAnEffect(t *testing.T) {
	t.Parallel()
	wantProblem(t, subject(func(ctx context.Context, tx *facts.Tx, e event.Event) error {
		f, _, err := fact(e)
		if err != nil {
			return err
		}
		_, err = facts.Claim(ctx, tx, f)
		return err
	}), "it has 0 effects", "redelivery", "concurrent delivery")
}

// TestHandlerThatAppliesAReplay again, to a table that lets it.
func TestHandlerThatAppliesAReplay(t *testing.T) {
	t.Parallel()
	s := subject(func(ctx context.Context, tx *facts.Tx, e event.Event) error {
		f, r, err := fact(e)
		if err != nil {
			return err
		}
		claimed, err := facts.Claim(ctx, tx, f)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, insert, claimed.ID, r.Account, r.Amount)
		return err
	})
	s.Open = open("NOT NULL")
	wantProblem(t, s, "it has 2 effects", "redelivery", "crash after the commit")
	s.Open = open(asItShouldBe)
	wantProblem(t, s, "of 100 deliveries", "concurrent delivery")
}

// TestHandlerThatRepairs a lost effect by itself: what is gone was perhaps reversed.
func TestHandlerThatRepairs(t *testing.T) {
	t.Parallel()
	wantProblem(t, subject(func(ctx context.Context, tx *facts.Tx, e event.Event) error {
		f, r, err := fact(e)
		if err != nil {
			return err
		}
		claimed, err := facts.Claim(ctx, tx, f)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, insert+" ON CONFLICT DO NOTHING", claimed.ID, r.Account, r.Amount)
		return err
	}), "applied again", "inbox without effect")
}

// TestHandlerThatLooksFirst and inserts then: two at once both find nothing.
func TestHandlerThatLooksFirst(t *testing.T) {
	t.Parallel()
	wantProblem(t, subject(func(ctx context.Context, tx *facts.Tx, e event.Event) error {
		f, r, err := fact(e)
		if err != nil {
			return err
		}
		var id int64
		err = tx.QueryRow(ctx, "SELECT id FROM outbox.consumer_fact WHERE fact_key = $1", f.Key.String()).Scan(&id)
		if errors.Is(err, pgx.ErrNoRows) {
			err = tx.QueryRow(ctx, `INSERT INTO outbox.consumer_fact (source, account_id, fact_type, fact_key, event_source, event_id, attributes)
				VALUES ($1, $2, $3, $4, 'x', 'x', '{}') RETURNING id`, f.Source, f.Account, f.Type, f.Key.String()).Scan(&id)
			if err == nil {
				_, err = tx.Exec(ctx, insert, id, r.Account, r.Amount)
			}
		}
		facts.None(tx)
		return err
	}), "of 100 deliveries", "concurrent delivery")
}

// TestHandlerThatFailsOnAMismatch keeps the message for ever.
func TestHandlerThatFailsOnAMismatch(t *testing.T) {
	t.Parallel()
	wantProblem(t, subject(func(ctx context.Context, tx *facts.Tx, e event.Event) error {
		if err := sound(ctx, tx, e); err != nil {
			return err
		}
		if tx.Claims()[0].Outcome == facts.Mismatch {
			return errors.New("another amount")
		}
		return nil
	}), "want quarantined", "attribute mismatch")
}

func TestDeliver(t *testing.T) {
	t.Parallel()
	s := subject(sound)
	results := consumerstest.Deliver(t, s.Open(t), s.Handler, s.Config, s.Event(1), s.Same(1), s.Event(2), s.Mismatch(2))
	want := []consumers.Outcome{consumers.Applied, consumers.Replayed, consumers.Applied, consumers.Quarantined}
	for i := range want {
		if results[i].Outcome != want[i] {
			t.Errorf("event %d is %s, want %s", i, results[i].Outcome, want[i])
		}
	}
}

// fatal is a test that remembers why it was ended.
type fatal struct {
	testing.TB
	text string
}

func (f *fatal) Fatal(args ...any) {
	f.text = fmt.Sprint(args...)
	panic(f)
}

func TestSubjectThatLacksSomething(t *testing.T) {
	t.Parallel()
	f := &fatal{TB: t}
	defer func() {
		if recover() != f || !strings.Contains(f.text, "lacks Count, beside a Proof, Event, Handler, Mismatch or NoAttributes, Open, Remove") {
			t.Errorf("the test was ended with %q", f.text)
		}
	}()
	consumerstest.Check(f, consumerstest.Subject{}, "")
}
