package harness_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"runtime"

	"github.com/holdfast-dev/holdfast/e2e/harness"
)

// childEnv makes the test binary a program that starts a cluster and waits to
// be killed.
const childEnv = "HOLDFAST_HARNESS_CHILD"

func runChild() int {
	started := make(chan *harness.Postgres)
	go func() { // this goroutine and its thread end; the cluster must not
		runtime.LockOSThread()
		pg, err := harness.StartPostgres(context.Background(), harness.PostgresOptions{})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		started <- pg
	}()
	pg := <-started
	if pg == nil {
		return 1
	}
	fmt.Println(pg.Port())
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
	return 1
}
