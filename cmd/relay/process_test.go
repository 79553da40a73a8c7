package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

type serverOptions = server.Options

// patience is how long a test waits for something that must happen.
const patience = 90 * time.Second

// process is a relay that runs as a process of its own, with its log in JSON.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	base string // of its HTTP server

	mu    sync.Mutex // guards lines
	lines []string

	exited chan struct{} // closed when it has ended and its log is complete
	code   int           // its exit status; read it after exited
}

// startRelay runs "relay run --stream ORDERS" of a binary and returns when its HTTP server listens. What is still
// running at the end of the test is killed.
func startRelay(t *testing.T, binary string, environ ...string) *process {
	t.Helper()
	p := launch(t, binary, environ...)
	eventually(t, "the http server listens", func() bool {
		line, found := p.logged("http server listens")
		p.base, _ = line["addr"].(string)
		return found
	})
	p.base = "http://" + p.base
	return p
}

func launch(t *testing.T, binary string, environ ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(binary, "run", "--stream", "ORDERS"), exited: make(chan struct{})}
	p.cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), mainEnv + "=1",
		"RELAY_HTTP_ADDR=127.0.0.1:0", "RELAY_LOG_FORMAT=json",
	}, environ...)
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go p.follow(stderr)
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it has ended already, as it should
		<-p.exited
		if t.Failed() {
			t.Logf("log of pid %d:\n%s", p.cmd.Process.Pid, p.log())
		}
	})
	return p
}

func (p *process) follow(stderr io.Reader) {
	defer close(p.exited)
	for scanner := bufio.NewScanner(stderr); scanner.Scan(); {
		p.mu.Lock()
		p.lines = append(p.lines, scanner.Text())
		p.mu.Unlock()
	}
	var failed *exec.ExitError
	if err := p.cmd.Wait(); errors.As(err, &failed) {
		p.code = failed.ExitCode()
	}
}

func (p *process) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n")
}

// logged returns the last line with that message.
func (p *process) logged(message string) (line map[string]any, found bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, text := range p.lines {
		var parsed map[string]any
		if json.Unmarshal([]byte(text), &parsed) == nil && parsed["msg"] == message {
			line, found = parsed, true
		}
	}
	return line, found
}

// count says how many lines have that message.
func (p *process) count(message string) int {
	return strings.Count(p.log(), `"msg":"`+message)
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// wait returns the exit status.
func (p *process) wait() int {
	p.t.Helper()
	select {
	case <-p.exited:
		return p.code
	case <-time.After(patience):
		p.t.Fatal("the relay does not end")
		return -1
	}
}

// get returns the status and the body of an answer.
func (p *process) get(path, accept string) (int, string) {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.base+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	request.Header.Set("Accept", accept)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	response, err := client.Do(request)
	if err != nil {
		p.t.Fatalf("get %s: %v", path, err)
	}
	body, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		p.t.Fatalf("get %s: %v", path, err)
	}
	return response.StatusCode, string(body)
}

// awaitReady waits until /readyz has a status and returns the answer.
func (p *process) awaitReady(status int) string {
	p.t.Helper()
	var body string
	eventually(p.t, "/readyz is "+http.StatusText(status), func() bool {
		var got int
		got, body = p.get("/readyz", "application/json")
		return got == status
	})
	return body
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	outboxtest.Eventually(t, patience, what, condition)
}
