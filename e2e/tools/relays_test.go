package tools_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

const (
	drainLimit = 3 * time.Minute  // for the relays to publish everything
	stopLimit  = 60 * time.Second // for a relay to hand back its lanes and end
)

// relays are the relay processes of one database.
type relays struct {
	t      *testing.T
	bin    binaries
	db     *outboxtest.Database
	nats   string
	stream string
}

// env is ours, with nothing in it that is about other databases or relays.
func (r relays) env(owner string) []string {
	env := []string{
		"RELAY_DATABASE_URL=" + r.db.URL, "RELAY_NATS_URL=" + r.nats, "RELAY_STREAM=" + r.stream, "RELAY_SUBJECT_PREFIX=" + strings.ToLower(r.stream),
		"RELAY_OWNER=" + owner, "RELAY_LEASE=3s", "RELAY_HTTP_ADDR=127.0.0.1:0",
	}
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "RELAY_") && !strings.HasPrefix(variable, "PG") && !strings.HasPrefix(variable, "NATS_") {
			env = append(env, variable)
		}
	}
	return env
}

// start starts a relay process, and stops it in order when the test ends.
func (r relays) start(owner string) {
	r.t.Helper()
	log, err := os.Create(filepath.Join(r.t.TempDir(), owner+".log"))
	if err != nil {
		r.t.Fatal(err)
	}
	cmd := exec.Command(r.bin.relay, "run")
	cmd.Env, cmd.Stderr = r.env(owner), log
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	ended := make(chan error, 1) // how it ended; written once
	go func() { ended <- cmd.Wait() }()
	r.t.Cleanup(func() {
		err := cmd.Process.Signal(syscall.SIGTERM)
		if err == nil {
			select {
			case err = <-ended:
			case <-time.After(stopLimit):
				err = cmd.Process.Kill()
				<-ended
				r.t.Errorf("relay %s did not stop", owner)
			}
		}
		_ = log.Close() // it was written by the child
		if text, readErr := os.ReadFile(log.Name()); err != nil || r.t.Failed() {
			r.t.Errorf("relay %s ended with %v, %v; it logged:\n%s", owner, err, readErr, text)
		}
	})
}

// bodies is what the test needs of a stream: the payloads that it has so far.
type bodies func(ctx context.Context) ([][]byte, error)

// awaitDrained waits until the stream has as many events as were staged, and judges them.
func (r relays) awaitDrained(read bodies, want int) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), drainLimit)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var all [][]byte
	for ; len(all) < want; <-tick.C {
		var err error
		if all, err = read(ctx); err != nil {
			r.t.Fatalf("wait for %d events in %s, which has %d: %v", want, r.stream, len(all), err)
		}
	}
	var got []int
	for _, body := range all {
		got = append(got, numberOf(r.t, body))
	}
	wantInOrder(r.t, got, want)
}

// numberOf reads the number in the payload of an event.
func numberOf(t *testing.T, data []byte) int {
	t.Helper()
	var body struct{ N int }
	if err := json.Unmarshal(data, &body); err != nil {
		t.Fatalf("payload %q: %v", data, err)
	}
	return body.N
}

// wantInOrder wants the numbers 1 to want, once each, in order for each of the three keys.
func wantInOrder(t *testing.T, got []int, want int) {
	t.Helper()
	keys := map[int][]int{}
	for _, n := range got {
		keys[n%3] = append(keys[n%3], n)
	}
	expected := map[int][]int{}
	for n := 1; n <= want; n++ {
		expected[n%3] = append(expected[n%3], n)
	}
	if diff := cmp.Diff(expected, keys); diff != "" {
		t.Errorf("events by key (-want +got):\n%s", diff)
	}
}
