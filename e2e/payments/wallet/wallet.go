package wallet

import (
	"context"
	_ "embed"
	"strconv"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/holdfast-dev/holdfast/consumers"
	"github.com/holdfast-dev/holdfast/consumers/facts"
	"github.com/holdfast-dev/holdfast/outbox"
)

// Schema makes the tables of the service.
//
//go:embed schema.sql
var Schema string

var (
	//go:embed sql/entry.sql
	entrySQL string
	//go:embed sql/balance.sql
	balanceSQL string
)

// Moved is the type of the events that the service tells others: one for each entry.
const Moved = "wallet.moved"

// Config is the consumer of the service on a stream.
func Config(stream string) consumers.Config {
	same := map[string]string{"kind": "kind", "provider": "provider", "cents": "cents", "currency": "currency"}
	effect := consumers.Effect{Table: "wallet.entry", Account: "wallet", Attributes: same}
	return consumers.Config{
		Name: "wallet", Group: "money", Stream: stream,
		Subjects: []string{"events." + PaymentSucceeded, "events." + ChargeSucceeded, "events." + RefundSucceeded},
		Effects:  map[string]consumers.Effect{payment: effect, refund: effect},
	}
}

// Handle books what an event tells, if it is told for the first time.
func Handle(ctx context.Context, tx *facts.Tx, e event.Event) error {
	fact, en, err := read(e)
	if err != nil {
		return err
	}
	claimed, err := facts.Claim(ctx, tx, fact)
	if err != nil || claimed.Outcome != facts.Applied {
		return err
	}
	var id int64
	err = tx.QueryRow(ctx, entrySQL, claimed.ID, en.wallet, en.kind, en.provider, en.cents, en.currency).Scan(&id)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, balanceSQL, en.wallet, en.currency, en.cents); err != nil {
		return err
	}
	return tell(ctx, tx, id, en)
}

// tell stages the event of an entry. Its id is that of the entry, so that nobody downstream takes
// it for another one.
func tell(ctx context.Context, tx *facts.Tx, id int64, en entry) error {
	e := event.New()
	e.SetID("entry-" + strconv.FormatInt(id, 10))
	e.SetSource("/wallet")
	e.SetType(Moved)
	e.SetExtension("partitionkey", en.wallet)
	if err := e.SetData("application/json", map[string]any{"wallet": en.wallet, "cents": en.cents, "currency": en.currency}); err != nil {
		return err
	}
	_, err := outbox.PublishTx(ctx, tx, e)
	return err
}
