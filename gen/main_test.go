package gen_test

import (
	"os"
	"testing"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(installChildEnv); url != "" {
		os.Exit(installChild(url))
	}
	outboxtest.Main(m)
}
