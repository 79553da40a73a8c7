package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/e2e/child"
)

// superuser owns the cluster; every connection of the harness is made as it.
const superuser = "postgres"

const (
	startLimit = time.Minute      // for a start whose context has no deadline
	closeLimit = 30 * time.Second // for Close, before it kills
	startTries = 10               // ports tried by StartPostgres
)

// PostgresOptions says how a cluster is made. The zero value is a cluster for
// tests.
type PostgresOptions struct {
	// Dir holds the data, the socket and the log. A cluster that an earlier
	// StartPostgres made there is used again. For a root process it must be
	// where the unprivileged user can get to. Defaults to a new directory, which
	// Close removes: in TMPDIR when that is set or the cluster is durable, else in
	// memory if there is plenty, else where temporary files go.
	Dir string

	// BinDir is the directory of initdb and postgres. Defaults to the first of
	// HOLDFAST_PG_BIN, PATH, and the places where Debian and Homebrew packages
	// put them, the newest major version first.
	BinDir string

	// Durable keeps Postgres's defaults, so that a commit survives a power
	// failure. Defaults to false: fsync and full_page_writes are off, which
	// survives any end of the processes and is much faster.
	Durable bool

	// Settings are further lines of postgresql.conf, over the harness's own.
	// The port, the listen address and the socket directory can't be set.
	Settings map[string]string

	// Log receives what the harness does to this machine, such as an
	// installation. Defaults to nowhere.
	Log io.Writer
}

// Postgres is a private cluster. Its methods are safe for concurrent use.
type Postgres struct {
	opts    PostgresOptions
	binDir  string
	dir     string
	work    *workDir // nil when the caller named Dir
	account *account // nil when it runs as ourselves
	port    int      // fixed once StartPostgres has returned

	mu     sync.Mutex     // serialises start, stop and close; guards the fields below
	proc   *child.Process // the postmaster; nil before the first start
	clean  bool           // it was shut down in order, so nothing of it is left
	closed bool

	creating sync.Mutex // held during CREATE DATABASE: a template must have no other user
}

// StartPostgres makes a cluster and starts it. It returns when the cluster
// answers a query, at the latest after a minute or at the deadline of ctx.
// ctx bounds the start only; the cluster runs until Close.
func StartPostgres(ctx context.Context, opts PostgresOptions) (*Postgres, error) {
	return startPostgres(ctx, opts, freePort)
}

// startPostgres takes the source of ports, so that a test can make them
// collide.
func startPostgres(ctx context.Context, opts PostgresOptions, nextPort func() (int, error)) (*Postgres, error) {
	if opts.Log == nil {
		opts.Log = io.Discard
	}
	if err := checkSettings(opts.Settings); err != nil {
		return nil, err
	}
	binDir, err := locate(ctx, opts.BinDir, opts.Log)
	if err != nil {
		return nil, err
	}
	p := &Postgres{opts: opts, binDir: binDir}
	ctx, cancel := withDefaultDeadline(ctx, startLimit)
	defer cancel()
	if err := p.prepare(ctx); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	if err := p.startOnFreePort(ctx, nextPort); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// prepare makes the directory and the data in it.
func (p *Postgres) prepare(ctx context.Context) error {
	var err error
	if p.account, err = unprivileged(); err != nil {
		return err
	}
	if p.dir, err = filepath.Abs(p.opts.Dir); err != nil {
		return err
	}
	if p.opts.Dir == "" {
		parent := ""
		if !p.opts.Durable {
			parent = memoryDir()
		}
		if p.work, err = newWorkDir(parent, "pg"); err != nil {
			return fmt.Errorf("make a directory for postgres: %w", err)
		}
		p.dir = p.work.path
	} else if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return err
	}
	if err := p.account.own(p.dir); err != nil {
		return err
	}
	if err := p.account.canEnter(p.binDir); err != nil {
		return err
	}
	return p.initialise(ctx)
}

// startOnFreePort tries another port when someone took the one it chose.
func (p *Postgres) startOnFreePort(ctx context.Context, nextPort func() (int, error)) error {
	for try := 1; ; try++ {
		port, err := nextPort()
		if err != nil {
			return err
		}
		p.port = port
		err = p.launch(ctx)
		if err == nil || try == startTries || !errors.Is(err, errExited) || !portBusy(port) {
			return err
		}
	}
}

// Start starts a stopped or crashed cluster again, on the same port and data,
// and returns when it answers a query, at the latest after a minute or at the
// deadline of ctx. On a running cluster it does nothing.
func (p *Postgres) Start(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return fmt.Errorf("start postgres: %w", errClosed)
	}
	if p.proc.Running() {
		return nil
	}
	ctx, cancel := withDefaultDeadline(ctx, startLimit)
	defer cancel()
	for {
		err := p.launch(ctx)
		// After a crash, children of the old server may hold its shared memory
		// for a moment, and a new server rightly refuses to start beside them.
		if err == nil || !errors.Is(err, errExited) || (p.clean && !portBusy(p.port)) {
			return err
		}
		if pause(ctx) != nil {
			return err
		}
	}
}

// Stop stops the cluster and returns when it has ended. Mode is one of
// Postgres's: "smart" waits for the clients to leave, "fast" disconnects them,
// "immediate" is a crash from which the next start recovers. On a stopped
// cluster it does nothing. When ctx ends first, the cluster is still stopping.
func (p *Postgres) Stop(ctx context.Context, mode string) error {
	sig, ok := map[string]syscall.Signal{
		"smart":     syscall.SIGTERM,
		"fast":      syscall.SIGINT,
		"immediate": syscall.SIGQUIT,
	}[mode]
	if !ok {
		return fmt.Errorf("stop postgres: mode %q is not one of smart, fast, immediate", mode)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stop(ctx, mode, sig)
}

func (p *Postgres) stop(ctx context.Context, mode string, sig syscall.Signal) error {
	if !p.proc.Running() {
		return nil
	}
	if err := p.proc.Signal(sig); err != nil {
		return fmt.Errorf("stop postgres (%s): %w", mode, err)
	}
	select {
	case <-p.proc.Done():
	case <-ctx.Done():
		return fmt.Errorf("stop postgres (%s): it is still running: %w", mode, context.Cause(ctx))
	}
	if mode == "immediate" {
		return nil
	}
	if err := p.proc.Err(); err != nil {
		return fmt.Errorf("stop postgres (%s): %w\n%s", mode, err, p.logTail())
	}
	p.clean = true
	return nil
}

// Kill ends all processes of the cluster with SIGKILL, as a power failure
// would, and returns when the postmaster has ended. Outside of Linux its
// backends notice by themselves; one that is busy may finish its statement.
func (p *Postgres) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kill()
}

func (p *Postgres) kill() {
	if p.proc.Running() {
		killChildren(p.proc)
		p.proc.Kill()
	}
}

// Close stops the cluster for good and removes its directory, unless the
// caller named it. Closing twice is harmless.
func (p *Postgres) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	p.closed = true
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	mode, sig := "fast", syscall.SIGINT
	if p.work != nil { // nobody will read the data again
		mode, sig = "immediate", syscall.SIGQUIT
	}
	err := p.stop(ctx, mode, sig)
	p.kill()
	if p.proc != nil {
		removeSegment(p.dataDir(), p.proc.PID())
	}
	if p.work != nil {
		err = errors.Join(err, p.work.remove())
	}
	return err
}

// URL returns the connection string of a database, as the superuser.
func (p *Postgres) URL(database string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.User(superuser),
		Host:     net.JoinHostPort(loopback, strconv.Itoa(p.port)),
		Path:     "/" + database,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

// Port returns the port, which stays the same until Close.
func (p *Postgres) Port() int { return p.port }

// BinDir returns the directory of the Postgres binaries, such as psql.
func (p *Postgres) BinDir() string { return p.binDir }

// Dir returns the directory that holds the data and the log.
func (p *Postgres) Dir() string { return p.dir }

// connect opens a connection of the harness's own.
func (p *Postgres) connect(ctx context.Context, database string) (*pgx.Conn, error) {
	return pgx.Connect(ctx, p.URL(database))
}

func withDefaultDeadline(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, limit)
}
