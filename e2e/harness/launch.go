package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/e2e/child"
)

const (
	logName    = "postgres.log"
	socketRoom = 100 // bytes that a socket path may have on every system
	tailLines  = 20
)

// environment lists the variables that a server inherits. The others, PG* and
// LC_* above all, would make its behaviour depend on who runs the tests.
var environment = []string{"PATH", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"}

// command prepares one of Postgres's programs to run as the account.
func (p *Postgres) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(p.binDir, name), args...)
	cmd.Dir = p.dir
	cmd.Env = []string{"HOME=" + p.dir, "LANG=C", "LC_ALL=C"}
	for _, name := range environment {
		if value, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.SysProcAttr = childAttr(p.account)
	return cmd
}

func (p *Postgres) dataDir() string { return filepath.Join(p.dir, "data") }

// initialise runs initdb, unless an earlier run of the harness did.
func (p *Postgres) initialise(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(p.dataDir(), confName)); err == nil {
		return nil
	}
	if entries, err := os.ReadDir(p.dataDir()); err == nil && len(entries) > 0 {
		return &Error{
			Op:   "initialise postgres",
			Err:  fmt.Errorf("%s holds data that the harness did not make, or did not finish making", p.dataDir()),
			Hint: "name another directory, or remove this one if nobody needs it",
		}
	}
	var output bytes.Buffer
	cmd := p.command("initdb", "--pgdata="+p.dataDir(), "--username="+superuser, "--auth=trust",
		"--encoding=UTF8", "--locale="+locale(), "--no-sync", "--no-instructions")
	cmd.Stdout, cmd.Stderr = &output, &output
	proc, err := child.Start(cmd)
	if err != nil {
		return fmt.Errorf("run initdb: %w", err)
	}
	select {
	case <-proc.Done():
	case <-ctx.Done():
		proc.Kill()
		return fmt.Errorf("run initdb: %w", context.Cause(ctx))
	}
	if proc.Err() != nil {
		return fmt.Errorf("run initdb: %w\n%s", proc.Err(), output.String())
	}
	return p.include()
}

// locale is the one whose order is that of the bytes and which still knows
// UTF-8; macOS doesn't have it under that name.
func locale() string {
	if runtime.GOOS == "darwin" {
		return "C"
	}
	return "C.UTF-8"
}

// launch starts the postmaster and returns when it answers. On failure nothing
// is left running. The error is errExited when the server gave up by itself.
func (p *Postgres) launch(ctx context.Context) error {
	if err := p.writeConf(); err != nil {
		return fmt.Errorf("configure postgres: %w", err)
	}
	log, err := os.OpenFile(filepath.Join(p.dir, logName), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the child has its own
	cmd := p.command("postgres", "-D", p.dataDir())
	cmd.Stdout, cmd.Stderr = log, log
	if p.proc, err = child.Start(cmd); err != nil {
		return fmt.Errorf("start postgres: %w", err)
	}
	if err := p.awaitReady(ctx); err != nil {
		err = fmt.Errorf("start postgres: %w\n%s", err, p.logTail())
		p.proc.Kill()
		return err
	}
	p.clean = false
	return nil
}

// awaitReady waits until the postmaster says in its pid file that it is ready,
// then asks it a question. The pid file comes first because a connection alone
// could reach another server that took the port a moment earlier, and because
// asking too early fills the log with errors.
func (p *Postgres) awaitReady(ctx context.Context) error {
	for !p.saysReady() {
		select {
		case <-p.proc.Done():
			return fmt.Errorf("%w: %v", errExited, p.proc.Err())
		default:
		}
		if err := pause(ctx); err != nil {
			return fmt.Errorf("it did not become ready: %w", err)
		}
	}
	conn, err := p.connect(ctx, "postgres")
	if err != nil {
		return err
	}
	return errors.Join(conn.Ping(ctx), conn.Close(ctx))
}

// saysReady reads postmaster.pid: its first line is the process id, its eighth
// the state.
func (p *Postgres) saysReady() bool {
	content, err := os.ReadFile(filepath.Join(p.dataDir(), "postmaster.pid"))
	if err != nil {
		return false
	}
	lines := strings.Split(string(content), "\n")
	return len(lines) >= 8 &&
		lines[0] == strconv.Itoa(p.proc.PID()) &&
		strings.TrimSpace(lines[7]) == "ready"
}

// Log returns the server's log, since the cluster was made. Each entry starts
// with the time, the process, "sqlstate=" and "db="; lines that continue an
// entry start with a tab.
func (p *Postgres) Log() (string, error) {
	content, err := os.ReadFile(filepath.Join(p.dir, logName))
	return string(content), err
}

func (p *Postgres) logTail() string {
	log, err := p.Log()
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(log), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}
