package main

import (
	"os"
	"testing"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// childEnv makes the test binary one of the services, in a process of its own that can be killed.
const childEnv = "HOLDFAST_FINALIZE_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		main()
		return
	}
	outboxtest.Main(m)
}
