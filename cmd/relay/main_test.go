package main

import (
	"os"
	"testing"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// mainEnv makes the test binary be the command, so that scripts run what was just compiled,
// with the race detector if the tests have it.
const mainEnv = "HOLDFAST_TEST_RUN_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(mainEnv) != "" {
		main()
		return
	}
	outboxtest.Main(m)
}
