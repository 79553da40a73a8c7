package upgrade_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

const (
	stream      = "UPGRADE"
	stopLimit   = 60 * time.Second // for a relay to hand back its lanes and end
	refuseLimit = 30 * time.Second // for a relay to refuse the database
)

// relay is a relay process.
type relay struct {
	t     *testing.T
	owner string
	cmd   *exec.Cmd
	log   string
	ended chan struct{} // closed when it has ended
	err   error         // how it ended; written before that
}

// environment is ours, without what is about other databases and relays.
func environment(db *outboxtest.Database, natsURL, owner string) []string {
	env := []string{
		"RELAY_DATABASE_URL=" + db.URL, "RELAY_NATS_URL=" + natsURL, "RELAY_STREAM=" + stream, "RELAY_OWNER=" + owner,
		"RELAY_LEASE=3s", "RELAY_HTTP_ADDR=127.0.0.1:0",
	}
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "RELAY_") && !strings.HasPrefix(variable, "PG") && !strings.HasPrefix(variable, "NATS_") {
			env = append(env, variable)
		}
	}
	return env
}

// startRelay starts a relay, and waits until it owns lanes.
func startRelay(t *testing.T, p programs, db *outboxtest.Database, natsURL, owner string) *relay {
	t.Helper()
	r := &relay{t: t, owner: owner, log: filepath.Join(t.TempDir(), owner+".log"), ended: make(chan struct{})}
	log, err := os.Create(r.log)
	if err != nil {
		t.Fatal(err)
	}
	r.cmd = exec.Command(p.relay, "run")
	r.cmd.Env, r.cmd.Stderr = environment(db, natsURL, owner), log
	err = r.cmd.Start()
	if err := errors.Join(err, log.Close()); err != nil {
		t.Fatal(err)
	}
	go func() {
		r.err = r.cmd.Wait()
		close(r.ended)
	}()
	t.Cleanup(func() {
		_ = r.cmd.Process.Kill() // fails if it has ended
		<-r.ended
		if text, err := os.ReadFile(r.log); t.Failed() {
			t.Logf("relay %s logged (%v):\n%s", owner, err, text)
		}
	})
	eventually(t, "relay "+owner+" owns lanes", func() bool {
		var lanes int
		err := db.Pool.QueryRow(t.Context(), "SELECT count(*) FROM outbox.outbox_lane WHERE lease_owner = $1 AND lease_until > now()", owner).Scan(&lanes)
		return err == nil && lanes > 0 || r.hasEnded()
	})
	r.mustRun()
	return r
}

func (r *relay) hasEnded() bool {
	select {
	case <-r.ended:
		return true
	default:
		return false
	}
}

// mustRun fails the test if the relay has ended.
func (r *relay) mustRun() {
	r.t.Helper()
	if r.hasEnded() {
		r.t.Fatalf("relay %s has ended by itself", r.owner)
	}
}

// stop stops it as a rolling update does; it must end cleanly.
func (r *relay) stop() {
	r.t.Helper()
	r.mustRun()
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		r.t.Fatalf("stop relay %s: %v", r.owner, err)
	}
	select {
	case <-r.ended:
		if r.err != nil {
			r.t.Errorf("relay %s ended with %v", r.owner, r.err)
		}
	case <-time.After(stopLimit):
		r.t.Fatalf("relay %s did not stop within %s", r.owner, stopLimit)
	}
}

// refuses wants a relay to end at once because of the version of the schema.
func refuses(t *testing.T, p programs, db *outboxtest.Database, natsURL, what string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), p.relay, "run")
	cmd.Env = environment(db, natsURL, "refused")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(refuseLimit, func() { _ = cmd.Process.Kill() }) // fails if it has ended
	defer timer.Stop()
	var exited *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exited) || !exited.Exited() || !strings.Contains(said.String(), "version") {
		t.Errorf("a relay %s: %v, it said:\n%s", what, err, said.String())
	}
}
