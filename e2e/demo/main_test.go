package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// childEnv makes the test binary be the demo, so that a test can signal it.
const childEnv = "HOLDFAST_DEMO_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		main()
	}
	goleak.VerifyTestMain(m)
}

const waitLimit = 3 * time.Minute // for anything that a demo does

// lastLine returns what the DEMO line says.
func lastLine(t *testing.T, stdout string) map[string]float64 {
	t.Helper()
	lines := strings.Split(strings.TrimRight(stdout, "\n"), "\n")
	document, found := strings.CutPrefix(lines[len(lines)-1], "DEMO ")
	var numbers map[string]float64
	if err := json.Unmarshal([]byte(document), &numbers); err != nil || !found {
		t.Fatalf("the last line is %q: %v", lines[len(lines)-1], err)
	}
	return numbers
}

// child is a demo in a process of its own, whose temporary files are in dir.
type child struct {
	cmd    *exec.Cmd
	dir    string
	stdout bytes.Buffer
	stderr *bufio.Reader
}

func startChild(t *testing.T, args ...string) *child {
	t.Helper()
	c := &child{dir: t.TempDir()}
	for dir := c.dir; dir != filepath.Dir(os.TempDir()) && strings.HasPrefix(dir, os.TempDir()); dir = filepath.Dir(dir) {
		if dir != os.TempDir() {
			if err := os.Chmod(dir, 0o755); err != nil { // Postgres may run as another user
				t.Fatal(err)
			}
		}
	}
	c.cmd = exec.Command(os.Args[0], args...)
	c.cmd.Env = append(os.Environ(), childEnv+"=1", "TMPDIR="+c.dir)
	c.cmd.Stdout = &c.stdout
	stderr, err := c.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.stderr = bufio.NewReader(stderr)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(waitLimit, func() { _ = c.cmd.Process.Kill() })
	t.Cleanup(func() {
		timer.Stop()
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait() // a second time, as a rule
	})
	return c
}

// until reads what the demo says up to a line that contains text, and returns it.
func (c *child) until(t *testing.T, text string) string {
	t.Helper()
	var said strings.Builder
	for {
		line, err := c.stderr.ReadString('\n')
		said.WriteString(line)
		if strings.Contains(line, text) {
			return said.String()
		}
		if err != nil {
			t.Fatalf("the demo never said %q: %v\n%s", text, err, said.String())
		}
	}
}

// end sends a signal and returns the exit code.
func (c *child) end(t *testing.T, sig os.Signal) int {
	t.Helper()
	if err := c.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, c.stderr); err != nil { // it ends when no process has the pipe any more
		t.Fatal(err)
	}
	_ = c.cmd.Wait() // its error is the exit code
	return c.cmd.ProcessState.ExitCode()
}

// nothingLeft checks that the demo has removed what it made.
func (c *child) nothingLeft(t *testing.T) {
	t.Helper()
	left, err := os.ReadDir(c.dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// TestServeGivesCommandsThatWork runs what the guide says.
func TestServeGivesCommandsThatWork(t *testing.T) {
	t.Parallel()
	c := startChild(t, "-orders", "100", "-serve")
	c.until(t, "Everything keeps running")
	guide := c.until(t, "nats -s")
	var exports, commands []string
	for line := range strings.Lines(guide) {
		switch line = strings.TrimSpace(line); {
		case strings.HasPrefix(line, "export "):
			exports = append(exports, line)
		case strings.Contains(line, "/psql "), strings.HasSuffix(line, "/relay status"):
			commands = append(commands, line)
		}
	}
	urls := regexp.MustCompile(`http://[^; \n]+`).FindAllString(guide, -1)
	if len(exports) != 3 || len(commands) != 6 || len(urls) != 6 {
		t.Errorf("%d variables, %d commands and %d urls, want 3, 6 and 6:\n%s", len(exports), len(commands), len(urls), guide)
	}
	for _, command := range commands {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", strings.Join(append(exports, command), "\n"))
		output, err := cmd.CombinedOutput()
		interactive := strings.HasSuffix(command, "?sslmode=disable'") // psql, which ends with its empty stdin
		if err != nil || (len(output) == 0) != interactive {
			t.Errorf("%s: %v\n%s", command, err, output)
		}
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: waitLimit}
	for _, url := range urls {
		response, err := client.Get(url)
		if err != nil {
			t.Error(err)
			continue
		}
		if response.Body.Close(); response.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", url, response.Status)
		}
	}
	if code := c.end(t, os.Interrupt); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	if n := lastLine(t, c.stdout.String()); n["orders"] != 100 {
		t.Errorf("%v orders", n["orders"])
	}
	c.nothingLeft(t)
}

func TestInterruptCleansUp(t *testing.T) {
	t.Parallel()
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			c := startChild(t, "-orders", "1000000")
			c.until(t, "committed")
			if code := c.end(t, sig); code != exitInterrupted {
				t.Errorf("exit code %d, want %d", code, exitInterrupted)
			}
			if c.stdout.Len() > 0 {
				t.Errorf("stdout: %s", c.stdout.String())
			}
			c.nothingLeft(t)
		})
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for want, args := range map[int][]string{exitOK: {"-h"}, exitUsage: {"-orders", "0"}} {
		var stdout, stderr bytes.Buffer
		if got := run(t.Context(), args, &stdout, &stderr); got != want || stdout.Len() > 0 || stderr.Len() == 0 {
			t.Errorf("%v: exit code %d, want %d; stdout %q, stderr %q", args, got, want, stdout.String(), stderr.String())
		}
	}
}

// sortedKeys of what the demo promises to say.
func sortedKeys(numbers map[string]float64) []string { return slices.Sorted(maps.Keys(numbers)) }
