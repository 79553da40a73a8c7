package keeper_test

import (
	"testing"

	"go.opentelemetry.io/otel"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

func TestMain(m *testing.M) {
	otel.SetMeterProvider(global)
	outboxtest.Main(m)
}
