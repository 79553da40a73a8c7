package pods_test

import (
	"flag"
	"testing"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

func TestMain(m *testing.M) {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		// These tests wait for leases more than they compute.
		if err := flag.Set("test.parallel", "6"); err != nil {
			panic(err)
		}
	}
	outboxtest.Main(m)
}
