package relay_test

import (
	"bytes"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// TestSwitchToAnotherClusterEndsTheRelay puts a copy in another cluster in place of the database of a
// running relay, under the same address: its ids mean something else there. The relay ends and says
// what to do, and publishes nothing of the copy, neither what was staged there nor what waits there.
func TestSwitchToAnotherClusterEndsTheRelay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		// staged before the copy is made, and waiting for a retry in it.
		waits bool
	}{{"idle", false}, {"with a retry that is due", true}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t)
			other := outboxtest.NewCluster(t, harness.PostgresOptions{})
			wire := newLink(t, s.db.URL)
			p := s.startOn(wire.url, s.nats.URL())
			s.stage("", 100)
			s.eventually("100 events settled", func() bool { return s.settled() == 100 })

			there := s.copyTo(other)
			if c.waits {
				there.exec(`WITH e AS (INSERT INTO outbox.event_outbox (event_id, source, type) VALUES ('waits', '/test', 'test.happened') RETURNING lane, seq)
					INSERT INTO outbox.outbox_retry (relay_group, lane, seq, event_id, work_kind) SELECT 'default', lane, seq, 'waits', 'parked' FROM e`)
			}
			there.stage("", 50)
			wire.turn(t, there.db.URL)
			select {
			case <-p.ended:
			case <-time.After(patience):
				t.Fatalf("the relay goes on:\n%s", p.logs)
			}
			if !errors.Is(p.err, outbox.ErrForeignCluster) || !strings.Contains(outbox.Hint(p.err), "relay rebase") {
				t.Errorf("run: %v (%s), want an error that names relay rebase", p.err, outbox.Hint(p.err))
			}
			if n := s.count(); n != 100 {
				t.Errorf("the stream has %d messages, want the 100 of before", n)
			}
		})
	}
}

// copyTo makes a copy of the database, under its name, in another cluster.
func (s *setup) copyTo(pg *harness.Postgres) *setup {
	s.t.Helper()
	if err := pg.CreateDatabase(s.t.Context(), s.db.Name, ""); err != nil {
		s.t.Fatal(err)
	}
	url := pg.URL(s.db.Name)
	dump := exec.Command(filepath.Join(pg.BinDir(), "pg_dump"), "--dbname="+s.db.URL)
	var problems bytes.Buffer
	dump.Stderr = &problems
	text, err := dump.Output()
	if err != nil {
		s.t.Fatalf("pg_dump: %v\n%s", err, problems.String())
	}
	restore := exec.Command(filepath.Join(pg.BinDir(), "psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", "--dbname="+url)
	restore.Stdin = bytes.NewReader(text)
	if out, err := restore.CombinedOutput(); err != nil {
		s.t.Fatalf("psql: %v\n%s", err, out)
	}
	pool := outboxtest.NewPool(s.t, url)
	return &setup{t: s.t, db: &outboxtest.Database{URL: url, Pool: pool, Name: s.db.Name}, nats: s.nats, js: s.js}
}
