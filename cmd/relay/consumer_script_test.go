package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/holdfast-dev/holdfast/consumers"
	"github.com/holdfast-dev/holdfast/consumers/facts"
)

// cmdSQLFile runs the statements of a file: "sqlfile FILE".
func cmdSQLFile(ts *testscript.TestScript, _ bool, args []string) {
	_, err := worldOf(ts).db.Pool.Exec(worldOf(ts).Context(), ts.ReadFile(args[0]))
	ts.Check(err)
}

// refunded is what the events of these scripts say.
type refunded struct {
	Refund  string `json:"refund"`
	Account string `json:"account"`
	Cents   int64  `json:"cents"`
}

// handleRefund is a handler as it should be, for the table billing.entry.
func handleRefund(ctx context.Context, tx *facts.Tx, e event.Event) error {
	var r refunded
	if err := json.Unmarshal(e.Data(), &r); err != nil {
		return consumers.Permanent(err)
	}
	key, err := facts.NewKey(facts.ID("refund", r.Refund))
	if err != nil {
		return err
	}
	claimed, err := facts.Claim(ctx, tx, facts.Fact{Source: "provider", Account: r.Account, Type: "refund", Key: key, Attributes: map[string]string{"cents": fmt.Sprint(r.Cents)}})
	if err != nil || claimed.Outcome != facts.Applied {
		return err
	}
	_, err = tx.Exec(ctx, "INSERT INTO billing.entry (fact_id, account, refund, cents) VALUES ($1, $2, $3, $4)", claimed.ID, r.Account, r.Refund, r.Cents)
	return err
}

// cmdConsume runs an instance of the consumer ledger of RELAY_STREAM until the script ends.
func cmdConsume(ts *testscript.TestScript, _ bool, _ []string) {
	w := worldOf(ts)
	nc, err := nats.Connect(ts.Getenv("RELAY_NATS_URL"), nats.MaxReconnects(-1))
	ts.Check(err)
	c, err := consumers.New(w.db.Pool, nc, handleRefund, consumers.Config{
		Name: "ledger", Stream: ts.Getenv("RELAY_STREAM"), RetryMin: 2 * time.Millisecond, FetchWait: 300 * time.Millisecond, Attempts: 2, RetryMax: 5 * time.Millisecond,
		ControlEvery: 100 * time.Millisecond, ReplayEvery: 100 * time.Millisecond, Logger: slog.New(slog.DiscardHandler),
		Effects: map[string]consumers.Effect{"refund": {Table: "billing.entry", Account: "account", Attributes: map[string]string{"cents": "cents"}}},
	})
	ts.Check(err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	ts.Defer(func() {
		stop()
		ts.Check(<-ended)
		nc.Close()
	})
}

// cmdRefund publishes an event to RELAY_STREAM: "refund EVENT TYPE REFUND ACCOUNT CENTS".
func cmdRefund(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 5 {
		ts.Fatalf("usage: refund EVENT TYPE REFUND ACCOUNT CENTS")
	}
	_, err := brokerOf(ts).PublishMsg(worldOf(ts).Context(), &nats.Msg{
		Subject: "events." + args[1],
		Header: nats.Header{"ce-specversion": {"1.0"}, "ce-id": {args[0]}, "ce-source": {"/shop"}, "ce-type": {args[1]},
			jetstream.MsgIDHeader: {args[0]}},
		Data: fmt.Appendf(nil, `{"refund": %q, "account": %q, "cents": %s}`, args[2], args[3], args[4]),
	})
	ts.Check(err)
}

// cmdAwait waits until a query is true: "await 'SELECT ...'".
func cmdAwait(ts *testscript.TestScript, _ bool, args []string) {
	w := worldOf(ts)
	until(ts, args[0], func() bool {
		var is bool
		ts.Check(w.db.Pool.QueryRow(w.Context(), args[0]).Scan(&is))
		return is
	})
}

// oldWriter is what a service did before it knew of facts: it looks, and then writes, in two places at once.
type oldWriter struct {
	mu      sync.Mutex
	written []string // what it committed, as an export of the provider has it
	refused string   // the SQLSTATE that it got last
}

type oldWriterKey struct{}

// cmdOldWriter starts it ("oldwriter start"), or waits until it was refused with a SQLSTATE ("oldwriter refused CODE"). It goes
// on, whatever it is told, until the script ends.
func cmdOldWriter(ts *testscript.TestScript, _ bool, args []string) {
	if args[0] == "refused" {
		old := ts.Value(oldWriterKey{}).(*oldWriter)
		until(ts, "the old writer is refused with "+args[1], func() bool {
			old.mu.Lock()
			defer old.mu.Unlock()
			return old.refused == args[1]
		})
		return
	}
	old := ts.Value(oldWriterKey{}).(*oldWriter)
	cfg := worldOf(ts).db.Pool.Config().Copy()
	cfg.ConnConfig.RuntimeParams["application_name"] = "old-writer"
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	ts.Check(err)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		for n := 1; ctx.Err() == nil; {
			var both sync.WaitGroup
			looked := &sync.WaitGroup{}
			looked.Add(2)
			var done [2]bool
			for i := range done {
				both.Go(func() { done[i] = old.write(ctx, pool, fmt.Sprintf("old_%d", n), looked) })
			}
			both.Wait()
			if done[0] || done[1] {
				old.note(fmt.Sprintf("old_%d", n))
				n++
			}
		}
	})
	ts.Defer(func() {
		stop()
		running.Wait()
		pool.Close()
	})
}

// write is the mistake: both look before either writes. What is refused is tried again.
func (o *oldWriter) write(ctx context.Context, pool *pgxpool.Pool, refund string, looked *sync.WaitGroup) bool {
	var there bool
	err := pool.QueryRow(ctx, "SELECT EXISTS (SELECT FROM billing.entry WHERE refund = $1)", refund).Scan(&there)
	looked.Done()
	looked.Wait()
	if err == nil && !there {
		_, err = pool.Exec(ctx, "INSERT INTO billing.entry (account, refund, cents) VALUES ('acct_1', $1, 100)", refund)
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		o.mu.Lock()
		o.refused = pg.Code
		o.mu.Unlock()
		time.Sleep(5 * time.Millisecond) // its own retry, as a provider has one
	}
	return err == nil
}

func (o *oldWriter) note(refund string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.written = append(o.written, "acct_1,"+refund+",100")
}

// cmdExport writes what the provider knows: "export FILE LINE...", after what the old writer committed.
func cmdExport(ts *testscript.TestScript, _ bool, args []string) {
	old := ts.Value(oldWriterKey{}).(*oldWriter)
	old.mu.Lock()
	defer old.mu.Unlock()
	lines := append(append([]string{"account,refund,cents"}, old.written...), args[1:]...)
	ts.Check(os.WriteFile(filepath.Join(ts.Getenv("WORK"), args[0]), []byte(strings.Join(lines, "\n")+"\n"), 0o600))
}

// cmdOpenEnd takes the last line break out of a file.
func cmdOpenEnd(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: openend FILE")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.TrimSuffix(ts.ReadFile(args[0]), "\n")), 0o644))
}
