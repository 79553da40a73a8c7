package relay_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"

	"github.com/holdfast-dev/holdfast/relay"
)

// childEnv makes the test binary a relay in a process of its own, which can be measured,
// frozen and killed.
const childEnv = "HOLDFAST_RELAY_CHILD"

type childSettings struct {
	Database, NATS string
	Config         relay.Config
}

// runChild is the main of the child. It answers the questions on its standard input and
// stops at its end.
func runChild(settings string) int {
	var s childSettings
	if err := json.Unmarshal([]byte(settings), &s); err != nil {
		fmt.Fprintln(os.Stderr, "settings:", err)
		return 1
	}
	var bug bug
	s.Config.Logger = slog.New(buggyHandler{Handler: slog.NewTextHandler(os.Stderr, nil), bug: &bug})
	poolConfig, err := relay.PoolConfig(s.Database, s.Config.Workers)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	poolConfig.ConnConfig.Tracer = buggyTracer{&bug}
	pool, err := pgxpool.NewWithConfig(context.Background(), poolConfig)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer pool.Close()
	nc, err := nats.Connect(s.NATS, relay.NATSOptions("relay-child")...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer nc.Close()
	r, err := relay.New(pool, nc, s.Config)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx, stop := context.WithCancel(context.Background())
	go answer(r, stop, &bug)
	if err := r.Run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "run:", err)
		os.Exit(1) // without closing the pool: a part that died may have a connection
	}
	return 0
}

// answer prints one line for each line that it reads.
func answer(r *relay.Relay, stop context.CancelFunc, b *bug) {
	defer stop()
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		question, argument, _ := strings.Cut(in.Text(), " ")
		switch question {
		case "break":
			b.in.Store(&argument)
			fmt.Println("from now on")
		case "ready":
			if err := r.Ready(); err != nil {
				fmt.Println(strconv.Quote(err.Error()))
			} else {
				fmt.Println(`""`)
			}
		case "cpu":
			var u syscall.Rusage
			if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
				fmt.Println(err)
			}
			fmt.Println(u.Utime.Nano() + u.Stime.Nano())
		case "memory":
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			fmt.Println(m.Sys - m.HeapReleased)
		}
	}
}

// child is a relay in a process of its own.
type child struct {
	t    *testing.T
	cmd  *exec.Cmd
	logs *logBuffer

	mu     sync.Mutex // one question at a time
	input  io.WriteCloser
	output *bufio.Reader
	end    func() error // waits for the process, once
}

// startChild runs a relay in a process of its own.
func (s *setup) startChild(change ...func(*relay.Config)) *child {
	s.t.Helper()
	settings := childSettings{Database: s.relayURL(), NATS: strings.Replace(s.nats.URL(), "nats://", "nats://"+s.user, 1), Config: quick()}
	for _, f := range change {
		f(&settings.Config)
	}
	text, err := json.Marshal(settings)
	if err != nil {
		s.t.Fatalf("child: %v", err)
	}
	c := &child{t: s.t, cmd: exec.Command(os.Args[0]), logs: &logBuffer{}}
	c.cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	c.cmd.Stderr = c.logs
	if c.input, err = c.cmd.StdinPipe(); err != nil {
		s.t.Fatalf("child: %v", err)
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		s.t.Fatalf("child: %v", err)
	}
	c.output = bufio.NewReader(stdout)
	if err := c.cmd.Start(); err != nil {
		s.t.Fatalf("child: %v", err)
	}
	c.end = sync.OnceValue(c.cmd.Wait)
	s.t.Cleanup(c.kill)
	return c
}

func (c *child) ask(question string) string {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := fmt.Fprintln(c.input, question); err != nil {
		c.t.Fatalf("ask the relay %q: %v; its log:\n%s", question, err, c.logs)
	}
	line, err := c.output.ReadString('\n')
	if err != nil {
		c.t.Fatalf("ask the relay %q: %v; its log:\n%s", question, err, c.logs)
	}
	return strings.TrimSpace(line)
}

// ready returns "" or why the relay is not ready.
func (c *child) ready() string {
	c.t.Helper()
	text, err := strconv.Unquote(c.ask("ready"))
	if err != nil {
		c.t.Fatalf("readiness: %v", err)
	}
	return text
}

// cpu returns the processor time that the relay has used.
func (c *child) cpu() time.Duration {
	c.t.Helper()
	n, err := strconv.ParseInt(c.ask("cpu"), 10, 64)
	if err != nil {
		c.t.Fatalf("processor time: %v", err)
	}
	return time.Duration(n)
}

// memory returns what the relay has from the operating system, in bytes.
func (c *child) memory() int64 {
	c.t.Helper()
	n, err := strconv.ParseInt(c.ask("memory"), 10, 64)
	if err != nil {
		c.t.Fatalf("memory: %v", err)
	}
	return n
}

// freeze stops the process where it is; thaw lets it go on.
func (c *child) freeze() { c.signal(syscall.SIGSTOP) }
func (c *child) thaw()   { c.signal(syscall.SIGCONT) }

func (c *child) signal(sig syscall.Signal) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(sig); err != nil {
		c.t.Fatalf("signal %v: %v", sig, err)
	}
}

// stop lets the relay stop by itself and returns its exit status as an error.
func (c *child) stop() error {
	_ = c.input.Close()
	return c.end()
}

// kill ends the process at once.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.end()
}
