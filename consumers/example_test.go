package consumers_test

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"

	"github.com/holdfast-dev/holdfast/consumers"
	"github.com/holdfast-dev/holdfast/consumers/facts"
)

// refunded is what the provider says of a refund, in events of two types.
type refunded struct {
	Refund  string
	Account string
	Cents   int64
}

// refundFact is the one mapper of all event types that tell a refund.
func refundFact(e event.Event) (facts.Fact, refunded, error) {
	var r refunded
	if err := json.Unmarshal(e.Data(), &r); err != nil {
		return facts.Fact{}, r, consumers.Permanent(err) // it will never be JSON
	}
	key, err := facts.NewKey(facts.ID("refund", r.Refund)) // the provider's own id
	return facts.Fact{
		Source: "provider", Account: r.Account, Type: "refund", Key: key,
		Attributes: map[string]string{"cents": strconv.FormatInt(r.Cents, 10)},
	}, r, err
}

// handleRefund claims the fact first, and writes the effect when it is new.
func handleRefund(ctx context.Context, tx *facts.Tx, e event.Event) error {
	fact, r, err := refundFact(e)
	if err != nil {
		return err
	}
	claimed, err := facts.Claim(ctx, tx, fact)
	if err != nil || claimed.Outcome != facts.Applied {
		return err // of a replay or a mismatch there is nothing to do
	}
	_, err = tx.Exec(ctx, "INSERT INTO ledger_entry (fact_id, account, cents) VALUES ($1, $2, $3)", claimed.ID, r.Account, r.Cents)
	return err
}

// consumeRefunds runs until ctx ends.
func consumeRefunds(ctx context.Context, pool *pgxpool.Pool, nc *nats.Conn) error {
	c, err := consumers.New(pool, nc, handleRefund, consumers.Config{
		Name: "ledger", Stream: "EVENTS", Subjects: []string{"events.refund.made", "events.charge.refunded"},
		Effects: map[string]consumers.Effect{
			"refund": {Table: "ledger_entry", Account: "account", Attributes: map[string]string{"cents": "cents"}},
		},
	})
	if err != nil {
		return err
	}
	return c.Run(ctx)
}

func Example() {
	run := func(ctx context.Context, pool *pgxpool.Pool, nc *nats.Conn) error {
		return consumeRefunds(ctx, pool, nc)
	}
	_ = run // in a service, with its own pool and connection
}
