package outboxtest_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

func TestStreamsOfTwoServersAreApart(t *testing.T) {
	t.Parallel()
	one := outboxtest.NewNATS(t)
	two := outboxtest.NewNATS(t, func(opts *harness.NATSOptions) { opts.MaxPayload = 1024 })
	orders := outboxtest.NewStream(t, one.URL(), "ORDERS", "orders.>", "payments.>")
	other := outboxtest.NewStream(t, two.URL(), "ORDERS", "orders.>")

	for _, subject := range []string{"orders.placed", "payments.made"} {
		ack, err := orders.Publish(t.Context(), subject, []byte("1"))
		if err != nil {
			t.Fatal(err)
		}
		if ack.Stream != "ORDERS" {
			t.Errorf("stored in %s", ack.Stream)
		}
	}
	stream, err := other.Stream(t.Context(), "ORDERS")
	if err != nil {
		t.Fatal(err)
	}
	if got := stream.CachedInfo().State.Msgs; got != 0 {
		t.Errorf("the other server has %d messages", got)
	}
	if got := other.Conn().MaxPayload(); got != 1024 {
		t.Errorf("max payload %d, want 1024", got)
	}
}
