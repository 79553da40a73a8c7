package harness

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/holdfast-dev/holdfast/e2e/child"
)

const (
	poolerLogName = "pgbouncer.log"
	poolerUp      = "process up:" // what pgbouncer logs when it listens

	// tracksStatements is the first minor version of pgbouncer 1 that carries prepared
	// statements over to another session.
	tracksStatements = 21

	poolerHint = "install pgbouncer (Debian and Ubuntu: apt-get install pgbouncer; macOS: brew install pgbouncer)"
)

// PoolerOptions says how a pooler is made. The zero value pools transactions.
type PoolerOptions struct {
	// Settings are further lines of the section [pgbouncer], over the harness's own. Where it
	// listens, and who may log in, can't be set.
	Settings map[string]string
}

// Pooler is pgbouncer in front of one server, for every database and every role of it, whoever
// says so. Its methods are safe for concurrent use.
type Pooler struct {
	program string
	account *account // nil when it runs as ourselves
	conf    poolerConf
	port    int // fixed once StartPooler has returned
	work    *workDir

	stop    chan struct{} // closed by Close
	stopped sync.Once
	watched chan struct{}  // closed when nobody starts it again; nil before the first start
	proc    *child.Process // of the start, then of the watcher, then of Close
}

// StartPooler starts pgbouncer in front of the server that a URL names, and returns when it
// listens. The server need not run yet. ctx bounds the start only, by default to a minute.
func StartPooler(ctx context.Context, server string, opts PoolerOptions) (*Pooler, error) {
	u, err := url.Parse(server)
	if err != nil {
		return nil, fmt.Errorf("start pgbouncer: %w", err)
	}
	program, err := findPooler()
	if err != nil {
		return nil, err
	}
	minor, err := poolerMinor(ctx, program)
	if err != nil {
		return nil, err
	}
	p := &Pooler{program: program, conf: poolerSettings(u, opts, minor), stop: make(chan struct{})}
	if p.account, err = unprivileged(); err != nil {
		return nil, err
	}
	if p.work, err = newWorkDir("", "pgbouncer"); err != nil {
		return nil, fmt.Errorf("make a directory for pgbouncer: %w", err)
	}
	if err := p.account.own(p.work.path); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	ctx, cancel := withDefaultDeadline(ctx, startLimit)
	defer cancel()
	if err := p.startOnFreePort(ctx); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	p.watched = make(chan struct{})
	go p.watch()
	return p, nil
}

// findPooler also looks where Debian puts servers, which is not in everybody's PATH.
func findPooler() (string, error) {
	for _, name := range []string{"pgbouncer", "/usr/sbin/pgbouncer"} {
		if program, err := exec.LookPath(name); err == nil {
			return program, nil
		}
	}
	return "", &Error{Op: "find pgbouncer", Err: errors.New("there is none in PATH"), Hint: poolerHint}
}

// poolerMinor returns what comes after "1." in the version.
func poolerMinor(ctx context.Context, program string) (int, error) {
	out, err := exec.CommandContext(ctx, program, "--version").Output()
	if err != nil {
		return 0, fmt.Errorf("ask pgbouncer for its version: %w", err)
	}
	var major, minor int
	if _, err := fmt.Sscanf(string(out), "PgBouncer %d.%d", &major, &minor); err != nil || major != 1 {
		return 0, fmt.Errorf("ask pgbouncer for its version: it says %.40q", out)
	}
	return minor, nil
}

// startOnFreePort tries another port when someone took the one it chose.
func (p *Pooler) startOnFreePort(ctx context.Context) error {
	for try := 1; ; try++ {
		var err error
		if p.port, err = freePort(); err != nil {
			return err
		}
		if err = p.launch(ctx); err == nil || try == startTries || !portBusy(p.port) {
			return err
		}
	}
}

// watch starts a pooler that ended by itself again, as an operating system does: 1.18
// gives up when the server ends a session in the moment in which it is handed to another client.
func (p *Pooler) watch() {
	defer close(p.watched)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-p.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	for {
		select {
		case <-p.stop:
			return
		case <-p.proc.Done():
		}
		for p.launch(ctx) != nil { // its log says why
			if pause(ctx) != nil {
				return
			}
		}
	}
}

func (p *Pooler) launch(ctx context.Context) error {
	file := filepath.Join(p.work.path, "pgbouncer.ini")
	text := p.conf.text(p.work.path, p.port)
	if err := errors.Join(os.WriteFile(file, []byte(text), 0o644),
		os.WriteFile(filepath.Join(p.work.path, "users"), []byte(`"`+superuser+`" ""`+"\n"), 0o644)); err != nil {
		return err
	}
	before := strings.Count(p.Log(), poolerUp)
	log, err := os.OpenFile(filepath.Join(p.work.path, poolerLogName), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the child has its own
	cmd := exec.Command(p.program, file)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = childAttr(p.account)
	proc, err := child.Start(cmd)
	if err != nil {
		return fmt.Errorf("start pgbouncer: %w", err)
	}
	p.proc = proc
	for strings.Count(p.Log(), poolerUp) == before {
		select {
		case <-p.proc.Done():
			return fmt.Errorf("start pgbouncer: %w: %v\n%s", errExited, p.proc.Err(), p.Log())
		default:
		}
		if err := pause(ctx); err != nil {
			err = fmt.Errorf("start pgbouncer: it did not become ready: %w\n%s", err, p.Log())
			p.proc.Kill()
			return err
		}
	}
	return nil
}

// Close ends the pooler at once, and with it every connection through it. Closing twice is
// harmless.
func (p *Pooler) Close() error {
	p.stopped.Do(func() { close(p.stop) })
	if p.watched != nil {
		<-p.watched
	}
	if p.proc != nil {
		p.proc.Kill()
	}
	if err := p.work.remove(); err != nil {
		return fmt.Errorf("close pgbouncer: %w", err)
	}
	return nil
}

// KeepsStatements says whether a prepared statement outlives the transaction.
func (p *Pooler) KeepsStatements() bool { return p.conf.keeps }

// URL returns a URL of the server with the address of the pooler in it. Where the pooler loses
// prepared statements, it says that none shall be used.
func (p *Pooler) URL(server string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", fmt.Errorf("url of a pooler: %w", err)
	}
	u.Host = net.JoinHostPort(loopback, strconv.Itoa(p.port))
	if query := u.Query(); !p.conf.keeps && !query.Has("default_query_exec_mode") {
		query.Set("default_query_exec_mode", "exec")
		u.RawQuery = query.Encode()
	}
	return u.String(), nil
}

// Log returns what the pooler logged.
func (p *Pooler) Log() string {
	content, err := os.ReadFile(filepath.Join(p.work.path, poolerLogName))
	if err != nil {
		return err.Error()
	}
	return string(content)
}
