package hold_test

import (
	"errors"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// The whole path, by the functions that a service uses.
func TestEventsHeldByPublishTxHeldAreReleased(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	var ids []string
	err := pgx.BeginFunc(t.Context(), b.Pool, func(tx pgx.Tx) (err error) {
		events := make([]event.Event, 3)
		for i := range events {
			events[i] = event.New()
			events[i].SetSource("/test")
			events[i].SetType("thing.made")
		}
		ids, err = outbox.PublishTxHeld(t.Context(), tx, b.hold, events...)
		return err
	})
	if err != nil {
		t.Fatalf("publish held: %v", err)
	}
	if log := b.log(t); len(log) != 0 {
		t.Errorf("log has %v before the release", log)
	}
	if _, err := hold.Release(t.Context(), b.Pool, b.hold, "test"); err != nil {
		t.Fatalf("release: %v", err)
	}
	if diff := cmp.Diff(ids, b.log(t)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

// In a transaction a call is undone with it, and done with it.
func TestCallsBelongToTheCallersTransaction(t *testing.T) {
	t.Parallel()
	db := setup(t)
	for name, d := range decisions {
		t.Run(name, func(t *testing.T) {
			b := db.another()
			run := func(tx pgx.Tx) error {
				_, err := hold.Register(t.Context(), tx, b.hold, "test")
				if err == nil {
					err = stage(t.Context(), tx, b.hold, "a", "b")
				}
				if err != nil {
					return err
				}
				got, err := d.decide(t, tx, b.hold)
				if diff := cmp.Diff(d.answer, got); diff != "" {
					t.Errorf("answer (-want +got):\n%s", diff)
				}
				return err
			}
			tx := b.begin(t, pgx.TxOptions{})
			if err := run(tx); err != nil {
				t.Fatal(err)
			}
			if err := tx.Rollback(t.Context()); err != nil {
				t.Fatalf("roll back: %v", err)
			}
			_, err := hold.State(t.Context(), b.Pool, b.hold)
			wantRefused(t, err, outbox.ErrGenerationUnknown, b.hold, "unknown")
			if len(b.log(t))+b.held(t)+len(b.audit(t)) != 0 {
				t.Error("the transaction that was rolled back left something")
			}
			if err := pgx.BeginFunc(t.Context(), b.Pool, run); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(d.log, b.log(t)); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
		})
	}
}

// A refused call ends its transaction, so what the refusal should have prevented can't
// be committed by mistake.
func TestRefusedCallCannotBeCommitted(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	b.createThings(t)
	if _, err := hold.Cancel(t.Context(), b.Pool, b.hold, "test"); err != nil {
		t.Fatalf("cancel: %v", err)
	}
	tx := b.begin(t, pgx.TxOptions{})
	if _, err := tx.Exec(t.Context(), `INSERT INTO thing VALUES ($1, 'result')`, b.hold.Operation); err != nil {
		t.Fatalf("write: %v", err)
	}
	_, err := hold.Release(t.Context(), tx, b.hold, "test")
	wantRefused(t, err, outbox.ErrGenerationCancelled, b.hold, "cancelled")
	if err := tx.Commit(t.Context()); !errors.Is(err, pgx.ErrTxCommitRollback) {
		t.Errorf("error of the commit is %v, want ErrTxCommitRollback", err)
	}
	if things := b.things(t); len(things) != 0 {
		t.Errorf("the refused transaction left %v", things)
	}
}

// A pool, a connection and a transaction do, in every protocol mode of pgx, also those
// that a transaction pooler needs.
func TestCallsWorkInEveryProtocolMode(t *testing.T) {
	t.Parallel()
	db := setup(t)
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe,
		pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		t.Run(mode.String(), func(t *testing.T) {
			b := db.another()
			config, err := pgxpool.ParseConfig(b.URL)
			if err != nil {
				t.Fatal(err)
			}
			config.ConnConfig.DefaultQueryExecMode = mode
			pool, err := pgxpool.NewWithConfig(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			defer pool.Close()
			conn, err := pool.Acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Release()
			if _, err := hold.Register(t.Context(), pool, b.hold, `the "träger"'s`); err != nil {
				t.Fatalf("register: %v", err)
			}
			if _, err := hold.Release(t.Context(), conn.Conn(), b.hold, "test", hold.Because(`it's \ done`)); err != nil {
				t.Fatalf("release: %v", err)
			}
			got, err := hold.State(t.Context(), conn, b.hold)
			if err != nil {
				t.Fatalf("state: %v", err)
			}
			if got.Principal != `the "träger"'s` || got.Reason != `it's \ done` || got.State != hold.Released {
				t.Errorf("state is %+v", got)
			}
			_, err = hold.Cancel(t.Context(), pool, b.hold, "test")
			wantRefused(t, err, outbox.ErrGenerationReleased, b.hold, "released")
		})
	}
}

func TestStoreOfAnotherSchema(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewEmptyDatabase(t)
	b := (&testBundle{Database: db}).another()
	_, err := hold.Register(t.Context(), db.Pool, b.hold, "test")
	if !errors.Is(err, outbox.ErrSchemaMissing) || outbox.Hint(err) == "" {
		t.Errorf("error without a schema is %v with hint %q, want ErrSchemaMissing", err, outbox.Hint(err))
	}
	conn, err := pgx.Connect(t.Context(), db.URL)
	if err != nil {
		t.Fatal(err)
	}
	err = gen.Install(t.Context(), conn, canonical.Params{Schema: "elsewhere"}, canonical.Hold)
	if err := errors.Join(err, conn.Close(t.Context())); err != nil {
		t.Fatalf("install: %v", err)
	}
	store, err := hold.New(hold.Config{Schema: "elsewhere"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Register(t.Context(), db.Pool, b.hold, "test"); err != nil {
		t.Errorf("register: %v", err)
	}
	if _, err := store.Drop(t.Context(), db.Pool, b.hold, "test"); err != nil {
		t.Errorf("drop: %v", err)
	}
	if got, err := store.State(t.Context(), db.Pool, b.hold); err != nil || got.State != hold.Cancelled {
		t.Errorf("state is %q with error %v, want cancelled", got.State, err)
	}
	for _, schema := range []string{"Elsewhere", "a.b", "a;b", "pg_x", "1a", "a b"} {
		if _, err := hold.New(hold.Config{Schema: schema}); err == nil {
			t.Errorf("schema %q is taken", schema)
		}
	}
}
