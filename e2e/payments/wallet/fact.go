package wallet

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/holdfast-dev/holdfast/consumers"
	"github.com/holdfast-dev/holdfast/consumers/facts"
)

// The types of events that the service wants. The first two tell the same payment.
const (
	PaymentSucceeded = "payment_intent.succeeded"
	ChargeSucceeded  = "charge.succeeded"
	RefundSucceeded  = "refund.succeeded"
)

// The types of facts, which are also the kinds of entries.
const (
	payment = "payment"
	refund  = "refund"
)

// Told is what the provider says. ID is that of the thing that the event is about.
type Told struct {
	ID       string `json:"id"`
	Payment  string `json:"payment,omitempty"` // of a charge: the payment that it belongs to
	Wallet   string `json:"wallet"`
	Cents    int64  `json:"cents"`
	Currency string `json:"currency"`
}

// entry is an effect.
type entry struct {
	kind, provider, wallet, currency string
	cents                            int64 // negative when the wallet pays
}

// read is the one mapper of all events, whoever handles them.
func read(e event.Event) (facts.Fact, entry, error) {
	var t Told
	if err := json.Unmarshal(e.Data(), &t); err != nil {
		return facts.Fact{}, entry{}, consumers.Permanent(err) // it will never be JSON
	}
	var en entry
	switch e.Type() {
	case PaymentSucceeded:
		en = entry{kind: payment, provider: t.ID, cents: t.Cents}
	case ChargeSucceeded:
		en = entry{kind: payment, provider: t.Payment, cents: t.Cents}
	case RefundSucceeded:
		en = entry{kind: refund, provider: t.ID, cents: -t.Cents}
	default:
		return facts.Fact{}, entry{}, consumers.Permanent(fmt.Errorf("no mapper for events of type %s", e.Type()))
	}
	en.wallet, en.currency = t.Wallet, t.Currency
	key, err := facts.NewKey(facts.ID(en.kind, en.provider))
	return facts.Fact{Source: "provider", Account: en.wallet, Type: en.kind, Key: key, Attributes: en.attributes()}, en, err
}

// attributes are what two tellings of one fact must agree on, and what the proof compares with the
// entry: the columns have the same names.
func (e entry) attributes() map[string]string {
	return map[string]string{"kind": e.kind, "provider": e.provider, "cents": strconv.FormatInt(e.cents, 10), "currency": e.currency}
}
