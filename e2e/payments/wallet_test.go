package main

import (
	"errors"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/consumers"
	"github.com/holdfast-dev/holdfast/consumers/consumerstest"
	"github.com/holdfast-dev/holdfast/e2e/payments/wallet"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// open returns a database of a case, in which a rate is known.
func open(t testing.TB) *pgxpool.Pool {
	t.Helper()
	db := outboxtest.NewDatabase(t)
	makeTables(t, db.Pool)
	if _, err := db.Pool.Exec(t.Context(), "INSERT INTO perdiem.rate (region, version, cents) VALUES ('north', 1, 2800)"); err != nil {
		t.Fatal(err)
	}
	return db.Pool
}

func TestWalletKeepsTheProtocol(t *testing.T) {
	t.Parallel()
	consumerstest.Run(t, consumerstest.Subject{
		Open: open, Handler: wallet.Handle, Config: wallet.Config(streamName),
		Event: paid, Same: charged,
		Mismatch: func(n int) event.Event {
			return tell("evt_x", wallet.PaymentSucceeded, wallet.Told{ID: "pi_1", Wallet: walletOf(n), Cents: cents(n) + 1, Currency: "EUR"})
		},
	})
}

// TestWalletHasOneEntryOfEachFact: two types of events of one payment, a refund, the same payment for another wallet,
// and whatever comes again; and every sum says the same.
func TestWalletHasOneEntryOfEachFact(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	makeTables(t, db.Pool)
	other := tell("evt_o", wallet.PaymentSucceeded, wallet.Told{ID: "pi_1", Wallet: "another", Cents: cents(1), Currency: "EUR"})
	results := consumerstest.Deliver(t, db.Pool, wallet.Handle, wallet.Config(streamName),
		charged(1), paid(1), refunded(1), refunded(1), other, charged(1), paid(8))
	for i, want := range []consumers.Outcome{
		consumers.Applied, consumers.Replayed, consumers.Applied, consumers.Replayed, consumers.Applied, consumers.Replayed, consumers.Applied,
	} {
		if results[i].Outcome != want {
			t.Errorf("event %d is %s, want %s", i, results[i].Outcome, want)
		}
	}
	s := &site{t: t, db: db}
	s.wantWallets(4)
	if n := query[int64](s, "SELECT cents FROM wallet.balance WHERE wallet = 'wallet-1'"); n != cents(8) {
		t.Errorf("the balance is %d, want that of the payment that was not refunded: %d", n, cents(8))
	}
}

// wantWallets compares all that the service wrote with the number of facts that there are.
func (s *site) wantWallets(n int) {
	s.t.Helper()
	for what, sql := range map[string]string{
		"facts":                "SELECT count(*) FROM outbox.consumer_fact",
		"entries":              "SELECT count(*) FROM wallet.entry",
		"facts with one entry": "SELECT count(*) FROM outbox.consumer_fact f WHERE 1 = (SELECT count(*) FROM wallet.entry e WHERE e.fact_id = f.id)",
		"events staged":        "SELECT count(DISTINCT event_id) FROM outbox.event_outbox WHERE type = 'wallet.moved'",
		"entries with one event": `SELECT count(*) FROM wallet.entry e
			WHERE 1 = (SELECT count(*) FROM outbox.event_outbox o WHERE o.event_id = 'entry-' || e.id)`,
	} {
		if got := query[int](s, sql); got != n {
			s.t.Errorf("%d %s, want %d", got, what, n)
		}
	}
	const wrong = `SELECT count(*) FROM wallet.balance b FULL JOIN (SELECT wallet, currency, sum(cents) AS cents FROM wallet.entry GROUP BY 1, 2) e
		USING (wallet, currency) WHERE b.cents IS DISTINCT FROM e.cents`
	if got := query[int](s, wrong); got != 0 {
		s.t.Errorf("%d balances are not the sum of their entries", got)
	}
}

// TestWalletIsGuardedTwice: a fact has one entry, and what an entry says is there once, also for a
// writer that makes a fact of its own.
func TestWalletIsGuardedTwice(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	makeTables(t, db.Pool)
	known := consumerstest.Deliver(t, db.Pool, wallet.Handle, wallet.Config(streamName), paid(1))[0].Claims[0].ID
	var own int64
	if err := db.Pool.QueryRow(t.Context(), `INSERT INTO outbox.consumer_fact (source, account_id, fact_type, fact_key, event_source, event_id, attributes)
		VALUES ('import', 'wallet-1', 'payment', 'payment=pi_1', 'import', 'row 7', '{}') RETURNING id`).Scan(&own); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		fact       int64
		payment    string
		constraint string
	}{{known, "pi_2", "entry_fact_id_key"}, {own, "pi_1", "entry_once"}} {
		_, err := db.Pool.Exec(t.Context(), `INSERT INTO wallet.entry (fact_id, wallet, kind, provider, cents, currency)
			VALUES ($1, 'wallet-1', 'payment', $2, 101, 'EUR')`, c.fact, c.payment)
		wantRefused(t, err, c.constraint)
	}
}

// wantRefused wants a unique violation of a constraint.
func wantRefused(t *testing.T, err error, constraint string) {
	t.Helper()
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || pg.Code != "23505" || pg.ConstraintName != constraint {
		t.Errorf("error is %v, want 23505 of %s", err, constraint)
	}
}
