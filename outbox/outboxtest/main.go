package outboxtest

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

// mainRuns says that somebody will stop the shared cluster.
var mainRuns atomic.Bool

// Main runs the tests, stops the shared cluster, and exits. When the tests
// passed, it also checks that they left no goroutine behind; ignore names those
// that the code under test can't end.
func Main(m *testing.M, ignore ...goleak.Option) {
	os.Exit(run(m, ignore))
}

func run(m interface{ Run() int }, ignore []goleak.Option) int {
	mainRuns.Store(true)
	code := m.Run()
	if err := shared.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "outboxtest: stop the shared cluster:", err)
		code = max(code, 1)
	}
	if code != 0 {
		return code // a failed test may well have left something behind
	}
	if err := goleak.Find(ignore...); err != nil {
		fmt.Fprintln(os.Stderr, "outboxtest: the tests left goroutines behind:", err)
		return 1
	}
	return 0
}
