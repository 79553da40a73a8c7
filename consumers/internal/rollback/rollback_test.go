package rollback_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/consumers/check"
	"github.com/holdfast-dev/holdfast/consumers/effects"
	"github.com/holdfast-dev/holdfast/consumers/reconcile"
	"github.com/holdfast-dev/holdfast/consumers/repair"
	"github.com/holdfast-dev/holdfast/e2e/fault"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

func TestMain(m *testing.M) { outboxtest.Main(m) }

// waitLimit bounds every wait for what must end.
const waitLimit = 90 * time.Second

// The database has given all that was asked, and then does not answer: whoever asked comes back.
func TestNobodyWaitsForARollbackWithoutEnd(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	if _, err := db.Pool.Exec(t.Context(), `CREATE TABLE public.entry (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
		created_at timestamptz NOT NULL DEFAULT now(), fact_id bigint UNIQUE REFERENCES outbox.consumer_fact (id), account text NOT NULL, refund text NOT NULL, amount bigint NOT NULL, adjusted_at timestamptz)`); err != nil {
		t.Fatal(err)
	}
	table := effects.Table{Group: "ledger", Table: "public.entry", Type: "refund", Source: "provider", Account: "account",
		Key: []effects.Part{{Name: "refund"}}, Attributes: map[string]string{"amount": "amount"}, Untouched: map[string]*string{"adjusted_at": nil}, Index: "entry_once", Export: map[string]string{"account": "account", "refund": "refund", "amount": "amount"}}
	for name, run := range map[string]func(context.Context, *pgxpool.Pool) error{
		"check": func(ctx context.Context, pool *pgxpool.Pool) error {
			_, err := check.Run(ctx, pool, check.Config{Tables: []effects.Table{table}})
			return err
		},
		"reconcile": func(ctx context.Context, pool *pgxpool.Pool) error {
			export := reconcile.CSV("export", strings.NewReader("account,refund,amount\n"), table)
			_, err := reconcile.Run(ctx, pool, export, reconcile.Config{Table: table})
			return err
		},
		"repair": func(ctx context.Context, pool *pgxpool.Pool) error {
			_, err := repair.Run(ctx, pool, repair.Config{Table: table, Mode: repair.Plan})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy, err := fault.NewPostgresProxy(db.URL)
			if err != nil {
				t.Fatal(err)
			}
			address, err := proxy.URL(db.URL)
			if err != nil {
				t.Fatal(err)
			}
			pool := outboxtest.NewPool(t, address)
			t.Cleanup(func() { _ = proxy.Close() }) // first: it ends what hangs
			silence := proxy.Add(fault.PostgresRule{Match: fault.Executes("rollback"), Do: fault.StallFor(time.Hour)})
			ended := make(chan error, 1)
			go func() { ended <- run(t.Context(), pool) }()
			select {
			case err := <-ended:
				if err != nil || silence.Hits() != 1 {
					t.Errorf("it ended with %v, and asked for %d rollbacks", err, silence.Hits())
				}
			case <-time.After(waitLimit):
				t.Error("it waits without end")
			}
		})
	}
}
