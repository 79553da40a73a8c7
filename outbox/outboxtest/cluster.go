package outboxtest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// setupLimit bounds each thing done for a test: start a cluster, install, copy,
// drop. An installation of Postgres is not part of it.
const setupLimit = time.Minute

// sharedCluster is the cluster of this process with the template in it. Each
// is made once, by the first test that needs it; a failure is the answer to
// all who ask.
type sharedCluster struct {
	mu          sync.Mutex // held while the cluster or the template is made
	pg          *harness.Postgres
	startErr    error
	template    string
	templateErr error
}

var shared sharedCluster

// Cluster returns the cluster that the tests of this process share. Other
// tests are using it: it must not be stopped. It needs Main.
func Cluster(t testing.TB) *harness.Postgres {
	t.Helper()
	if !mainRuns.Load() {
		t.Fatal("outboxtest: nobody would stop the shared cluster; " +
			"hint: add func TestMain(m *testing.M) { outboxtest.Main(m) } to the package")
	}
	pg, err := shared.start()
	if err != nil {
		t.Fatalf("outboxtest: %v", err)
	}
	return pg
}

// NewCluster starts a cluster of the test's own, for example one to stop and
// start, and closes it when the test ends.
func NewCluster(t testing.TB, opts harness.PostgresOptions) *harness.Postgres {
	t.Helper()
	if opts.Log == nil {
		opts.Log = os.Stderr
	}
	pg, err := harness.StartPostgres(t.Context(), opts)
	if err != nil {
		t.Fatalf("outboxtest: %v", err)
	}
	t.Cleanup(func() {
		if err := pg.Close(); err != nil {
			t.Errorf("outboxtest: close the cluster: %v", err)
		}
	})
	return pg
}

func (s *sharedCluster) start() (*harness.Postgres, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pg == nil && s.startErr == nil {
		s.pg, s.startErr = harness.StartPostgres(context.Background(), harness.PostgresOptions{Log: os.Stderr})
	}
	return s.pg, s.startErr
}

// templateOf returns the name of the template in the started cluster.
func (s *sharedCluster) templateOf(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.template == "" && s.templateErr == nil {
		s.template = fmt.Sprintf("hf_%d_template", os.Getpid())
		s.templateErr = makeDatabase(ctx, s.pg, s.template)
	}
	return s.template, s.templateErr
}

func (s *sharedCluster) stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pg == nil {
		return nil
	}
	return s.pg.Close()
}

// makeDatabase makes a database and installs the schema in it.
func makeDatabase(ctx context.Context, pg *harness.Postgres, name string) (err error) {
	if err := pg.CreateDatabase(ctx, name, ""); err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, pg.URL(name))
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := conn.Close(ctx); err == nil {
			err = closeErr
		}
	}()
	return gen.Install(ctx, conn, canonical.DefaultParams(), canonical.Components()...)
}
