package outbox_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// A new version of a component needs a new constant, and takes the old one away.
const (
	_ = outbox.SchemaOutboxV1
	_ = outbox.SchemaHoldV1
	_ = outbox.SchemaRelayV1
	_ = outbox.SchemaConsumerV1
	_ = outbox.SchemaSagaV1
)

func TestHandshakeIsOfTheNewestVersions(t *testing.T) {
	t.Parallel()
	for component, version := range map[canonical.Component]int{canonical.Outbox: 1, canonical.Hold: 1, canonical.Relay: 1, canonical.Consumer: 1, canonical.Saga: 1} {
		if newest := canonical.Version(component); newest != version {
			t.Errorf("%s is at version %d: rename its constant in handshake.go, and the version here", component, newest)
		}
	}
	if n := len(canonical.Components()); n != 5 {
		t.Errorf("there are %d components: each needs a constant in handshake.go", n)
	}
}
