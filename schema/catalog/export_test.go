package catalog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/holdfast-dev/holdfast/e2e/harness"
)

// envBinDirs names directories of further Postgres binaries, separated like PATH: the tests
// run on each of these versions as well as on the one that the harness finds.
const envBinDirs = "HOLDFAST_PG_BINS"

// Server is a cluster that the tests of this package share.
type Server struct {
	name string
	pg   *harness.Postgres
}

var servers struct {
	once sync.Once
	all  []Server
	err  error
}

var databases atomic.Int64

func TestMain(m *testing.M) {
	code := m.Run()
	for _, s := range servers.all {
		if err := s.pg.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "close", s.name+":", err)
			code = max(code, 1)
		}
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, "the tests left goroutines behind:", err)
			code = 1
		}
	}
	os.Exit(code)
}

func startServers() ([]Server, error) {
	servers.once.Do(func() {
		for _, dir := range append([]string{""}, filepath.SplitList(os.Getenv(envBinDirs))...) {
			pg, err := harness.StartPostgres(context.Background(), harness.PostgresOptions{BinDir: dir, Log: os.Stderr})
			if err != nil {
				servers.err = errors.Join(servers.err, err)
				continue
			}
			s := Server{pg: pg}
			s.name, err = s.version()
			servers.all, servers.err = append(servers.all, s), errors.Join(servers.err, err)
		}
	})
	return servers.all, servers.err
}

// ForEachServer runs a test on every version of Postgres at hand.
func ForEachServer(t *testing.T, test func(*testing.T, Server)) {
	t.Helper()
	all, err := startServers()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

// version returns a name such as postgres15.
func (s Server) version() (string, error) {
	conn, err := pgx.Connect(context.Background(), s.pg.URL("postgres"))
	if err != nil {
		return "", err
	}
	defer conn.Close(context.Background()) // nothing was written
	var name string
	err = conn.QueryRow(context.Background(), "SELECT 'postgres' || current_setting('server_version_num')::integer / 10000").Scan(&name)
	return name, err
}

// Database makes a private database and returns its URL.
func (s Server) Database(t testing.TB, template string) (name, url string) {
	t.Helper()
	name = fmt.Sprintf("catalog_%d", databases.Add(1))
	if err := s.pg.CreateDatabase(t.Context(), name, template); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.pg.DropDatabase(context.Background(), name); err != nil {
			t.Error(err)
		}
	})
	return name, s.pg.URL(name)
}

// Pool connects to an empty database of its own.
func (s Server) Pool(t testing.TB) *pgxpool.Pool {
	t.Helper()
	_, url := s.Database(t, "")
	return Connect(t, url)
}

// Connect opens a pool that is closed when the test ends.
func Connect(t testing.TB, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}
