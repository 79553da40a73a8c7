package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-dev/holdfast/e2e/fault"
	"github.com/holdfast-dev/holdfast/e2e/history"
)

const (
	relays = 3
	lease  = 2 * time.Second

	stopLimit = 2 * time.Minute // for a relay that is asked to end
	maxSkew   = 12 * time.Hour
)

// slot is the place of one relay. Relays come and go in it; its proxies stay.
type slot struct {
	number  int
	servers *servers
	nats    []*fault.NATSProxy // one to each node
	pg      *fault.PostgresProxy
	batch   int
	allow   string     // checks that are overridden
	clock   *rand.Rand // how wrong the clocks of its relays are

	// busy is held by the fault that has the relay killed, stopped or standing still.
	busy sync.Mutex
	name atomic.Pointer[string] // of the relay that is or was last there

	mu     sync.Mutex // guards the fields below
	proc   *fault.Process
	log    string // path
	starts int
	// wanted says that the relay should be running: if it is not, it ended by itself.
	wanted bool
	faults []string // what was wrong with its processes
}

// newSlot makes the proxies. They report what passes to the recorder.
func newSlot(number int, seed uint64, s *servers, batch int, record *history.Recorder) (sl *slot, err error) {
	sl = &slot{number: number, servers: s, batch: batch, clock: rand.New(rand.NewPCG(seed, 1<<41+uint64(number)))}
	none := ""
	sl.name.Store(&none)
	if sl.pg, err = fault.NewPostgresProxy(s.pg.URL(database)); err != nil {
		return sl, err
	}
	for _, url := range s.nodes.URLs() {
		proxy, err := fault.NewNATSProxy(url)
		if err != nil {
			return sl, errors.Join(err, sl.close())
		}
		sl.nats = append(sl.nats, proxy)
		proxy.Observe(func(e fault.NATSEvent) {
			name := *sl.name.Load()
			if !e.Ack {
				record.Publication(history.Publication{At: e.At, Relay: name, MessageID: e.ID})
				return
			}
			record.Ack(history.Ack{At: e.At, Relay: name, MessageID: e.ID, Sequence: e.Sequence, Upto: e.Upto, Duplicate: e.Duplicate, Code: e.Code, Delivered: e.Delivered, Forged: e.Forged})
		})
	}
	return sl, nil
}

// start starts a relay under a name that none had before.
func (sl *slot) start() error {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	sl.starts++
	name := fmt.Sprintf("relay-%d.%d", sl.number+1, sl.starts)
	sl.name.Store(&name)
	sl.log = filepath.Join(sl.servers.dir, name+".log")
	log, err := os.Create(sl.log)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the child has its own
	cmd := exec.Command(sl.servers.relay, "run")
	if cmd.Env, err = sl.environment(name); err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = log, log
	if sl.proc, err = fault.StartProcess(cmd); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	sl.wanted = true
	return nil
}

// environment is ours without what it says about relays, and with what this one needs.
func (sl *slot) environment(name string) ([]string, error) {
	var env []string
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "RELAY_") && !strings.HasPrefix(variable, "PG") && !strings.HasPrefix(variable, "NATS_") {
			env = append(env, variable)
		}
	}
	var servers []string
	for _, proxy := range sl.nats {
		servers = append(servers, proxy.URL())
	}
	direct := sl.servers.pg.URL(database)
	if sl.number == 0 { // the statements of one relay are logged, with their parameters, to be searched
		direct += "&log_statement=all"
	}
	url, err := sl.pg.URL(direct, "application_name", name)
	if err != nil {
		return nil, err
	}
	// Nobody asks for the password; it is there to be found in a log.
	url = strings.Replace(url, "postgres://postgres@", "postgres://postgres:"+secretMark+"@", 1)
	if sl.allow != "" {
		env = append(env, "RELAY_ALLOW="+sl.allow)
	}
	skew := sl.clock.Int64N(int64(2*maxSkew/time.Second)) - int64(maxSkew/time.Second)
	return append(env, fault.ClockSkewEnv+"="+strconv.FormatInt(skew, 10), "RELAY_DATABASE_URL="+url, "RELAY_NATS_URL="+strings.Join(servers, ","), "RELAY_STREAM="+streamName,
		"RELAY_OWNER="+name, "RELAY_HTTP_ADDR=127.0.0.1:0", "RELAY_LOG_FORMAT=json", "RELAY_LOG_LEVEL=debug",
		"RELAY_LEASE="+lease.String(), "RELAY_ACK_TIMEOUT=1s", "RELAY_RETRY_MIN=20ms", "RELAY_RETRY_MAX=500ms", "RELAY_REFUSED_PAUSE_MAX=5s", "RELAY_POLL_MAX=20ms",
		"RELAY_STOP_TIMEOUT=5s", "RELAY_UNREADY_AFTER=5s", "RELAY_WORKERS=4", "RELAY_BATCH_SIZE="+strconv.Itoa(sl.batch), "RELAY_PUBLISHER="+sl.servers.publisher.String()), nil
}

// kill ends the relay with SIGKILL.
func (sl *slot) kill() {
	sl.check()
	sl.mu.Lock()
	sl.wanted = false
	proc := sl.proc
	sl.mu.Unlock()
	proc.Kill()
}

// stop asks the relay to end, which it must do in order.
func (sl *slot) stop() {
	sl.check()
	sl.mu.Lock()
	sl.wanted = false
	proc, name := sl.proc, *sl.name.Load()
	sl.mu.Unlock()
	if err := proc.Stop(stopLimit); err != nil && sl.hasBegun() {
		sl.fault("%s did not stop in order: %v", name, err)
	}
}

// hasBegun says whether the relay has written anything. Before that it has not heard of signals.
func (sl *slot) hasBegun() bool {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	info, err := os.Stat(sl.log)
	return err != nil || info.Size() > 0
}

// check finds out whether the relay has ended by itself.
func (sl *slot) check() {
	sl.mu.Lock()
	ended := sl.wanted && !sl.proc.Running()
	if ended {
		sl.wanted = false
	}
	proc, name := sl.proc, *sl.name.Load()
	sl.mu.Unlock()
	if ended {
		sl.fault("%s ended by itself: %v", name, proc.Err())
	}
}

func (sl *slot) fault(format string, args ...any) {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	sl.faults = append(sl.faults, fmt.Sprintf(format, args...))
}

// failed returns what was wrong with the relays so far, and the end of the last log.
func (sl *slot) failed() error {
	sl.check()
	sl.mu.Lock()
	defer sl.mu.Unlock()
	if len(sl.faults) == 0 {
		return nil
	}
	log, err := os.ReadFile(sl.log)
	const tail = 2000
	return errors.Join(fmt.Errorf("%s\n%s", strings.Join(sl.faults, "\n"), log[max(0, len(log)-tail):]), err)
}

func (sl *slot) process() *fault.Process {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	return sl.proc
}

// metrics returns what the relay says at /metrics.
func (sl *slot) metrics() (string, error) {
	address, err := sl.address()
	if err != nil {
		return "", err
	}
	client := http.Client{Timeout: time.Minute}
	answer, err := client.Get("http://" + address + "/metrics")
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	client.CloseIdleConnections()
	return string(text), err
}

// address reads from the log where the relay listens.
func (sl *slot) address() (string, error) {
	sl.mu.Lock()
	log, err := os.ReadFile(sl.log)
	sl.mu.Unlock()
	if err != nil {
		return "", err
	}
	for line := range bytes.Lines(log) {
		var entry struct{ Msg, Addr string }
		if json.Unmarshal(line, &entry) == nil && entry.Msg == "http server listens" {
			return entry.Addr, nil
		}
	}
	return "", errors.New("the relay does not say where it listens")
}

var publishedMetric = regexp.MustCompile(`(?m)^holdfast_relay_events_published\S*?(?:\{[^}]*\})? (\S+)$`)

// counter reads what the relay counts.
func (sl *slot) counter(metrics string) (history.Counter, error) {
	c := history.Counter{Relay: *sl.name.Load()}
	match := publishedMetric.FindStringSubmatch(metrics)
	if match == nil {
		return c, nil // it has published nothing yet
	}
	n, err := strconv.ParseFloat(match[1], 64)
	c.Published = int64(n)
	return c, err
}

func (sl *slot) close() error {
	sl.mu.Lock()
	proc := sl.proc
	sl.mu.Unlock()
	if proc != nil {
		proc.Kill()
	}
	errs := []error{sl.pg.Close()}
	for _, proxy := range sl.nats {
		errs = append(errs, proxy.Close())
	}
	return errors.Join(errs...)
}
