package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestKilledDemoLeavesNoProcess: the relays and Postgres end with a demo that had no
// chance to end them.
func TestKilledDemoLeavesNoProcess(t *testing.T) {
	t.Parallel()
	c := startChild(t, "-orders", "1000000")
	c.until(t, "committed")
	if running := processesIn(t, c.dir); len(running) < 3 { // two relays and a server at least
		t.Fatalf("running: %q", running)
	}
	if code := c.end(t, os.Kill); code != -1 {
		t.Errorf("exit code %d", code)
	}
	for deadline := time.Now().Add(waitLimit); ; time.Sleep(10 * time.Millisecond) { // between two looks
		running := processesIn(t, c.dir)
		if len(running) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still running: %q", running)
		}
	}
}

// processesIn returns the commands whose binary or working directory is below dir.
func processesIn(t *testing.T, dir string) []string {
	t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, process := range processes {
		binary, _ := os.Readlink(process + "/exe") // fails for one that has ended since
		cwd, _ := os.Readlink(process + "/cwd")
		if strings.HasPrefix(binary, dir) || strings.HasPrefix(cwd, dir) {
			command, _ := os.ReadFile(process + "/cmdline")
			found = append(found, strings.ReplaceAll(string(command), "\x00", " "))
		}
	}
	return found
}
