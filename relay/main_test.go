package relay_test

import (
	"os"
	"testing"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

func TestMain(m *testing.M) {
	if settings := os.Getenv(childEnv); settings != "" {
		os.Exit(runChild(settings))
	}
	outboxtest.Main(m)
}
