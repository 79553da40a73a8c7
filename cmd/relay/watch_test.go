package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

func TestStatusWatchGoesOnUntilInterrupted(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	watch := exec.CommandContext(t.Context(), os.Args[0], "status", "--watch", "--interval", "20ms", "-o", "jsonl")
	watch.Env = []string{mainEnv + "=1", "RELAY_DATABASE_URL=" + db.URL}
	stdout, err := watch.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	states := map[string]bool{}
	staged := false
	for !states["unattended"] && lines.Scan() {
		var report struct{ State string }
		if err := json.Unmarshal(lines.Bytes(), &report); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		states[report.State] = true
		if !staged {
			staged = true
			stage(t, db, 3)
		}
	}
	if !states["idle"] {
		t.Errorf("the states were %v", states)
	}
	if err := watch.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // until it has ended
	}
	var exited *exec.ExitError
	if err := watch.Wait(); !errors.As(err, &exited) || exited.ExitCode() != 130 {
		t.Errorf("it ended with %v, want exit status 130", err)
	}
}
