package walk_test

import (
	"os"
	"testing"

	"github.com/holdfast-dev/holdfast/e2e/fault"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

func TestMain(m *testing.M) {
	if fault.IsNode() {
		os.Exit(fault.RunNode())
	}
	outboxtest.Main(m)
}
