package main

import (
	"flag"
	"os"
	"testing"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// childEnv makes the test binary the command itself, in a process that can be killed.
const childEnv = "HOLDFAST_PAYMENTS_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		main()
	}
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		// These tests wait for redeliveries more than they compute.
		if err := flag.Set("test.parallel", "6"); err != nil {
			panic(err)
		}
	}
	outboxtest.Main(m)
}
