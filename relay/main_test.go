package relay_test

import (
	"flag"
	"os"
	"testing"

	"github.com/holdfast-dev/holdfast/e2e/fault"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

func TestMain(m *testing.M) {
	if fault.IsNode() {
		os.Exit(fault.RunNode())
	}
	if settings := os.Getenv(childEnv); settings != "" {
		os.Exit(runChild(settings))
	}
	if fault.IsNode() {
		os.Exit(fault.RunNode())
	}
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		// These tests wait for leases, outages and restarts more than they compute.
		if err := flag.Set("test.parallel", "4"); err != nil {
			panic(err)
		}
	}
	outboxtest.Main(m)
}
