package harness

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	natsLogName    = "nats.log"
	natsReadyLimit = 10 * time.Second
)

// NATSOptions says how a NATS server is made. The zero value is a server for
// tests.
type NATSOptions struct {
	// Dir holds the store and the log. What an earlier server stored there is
	// served again. Defaults to a new temporary directory, which Close removes.
	Dir string

	// Port to listen on. Defaults to a free one.
	Port int

	// MaxPayload is the largest message, in bytes. Defaults to the server's own
	// default, one mebibyte.
	MaxPayload int32

	// Configure changes the server's options before each start, after the
	// harness has filled them in.
	Configure func(*server.Options)
}

// NATS is a server with JetStream that runs in this process. Its methods are
// safe for concurrent use.
type NATS struct {
	opts NATSOptions
	dir  string
	work *workDir // nil when the caller named Dir
	port int      // fixed once StartNATS has returned

	mu     sync.Mutex     // serialises start, stop and close; guards the fields below
	server *server.Server // the last one started; nil before the first start
	log    *natsLog       // its log
	closed bool
}

// StartNATS starts a server and returns when it accepts connections.
func StartNATS(opts NATSOptions) (*NATS, error) {
	return startNATS(opts, freePort)
}

// startNATS takes the source of ports, so that a test can make them collide.
func startNATS(opts NATSOptions, nextPort func() (int, error)) (*NATS, error) {
	n := &NATS{opts: opts, dir: opts.Dir}
	if n.dir == "" {
		work, err := newWorkDir("", "nats")
		if err != nil {
			return nil, fmt.Errorf("make a directory for nats: %w", err)
		}
		n.work, n.dir = work, work.path
	} else if err := os.MkdirAll(n.dir, 0o755); err != nil {
		return nil, err
	}
	if err := n.startOnFreePort(nextPort); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// startOnFreePort tries another port when someone took the one it chose.
func (n *NATS) startOnFreePort(nextPort func() (int, error)) error {
	if n.port = n.opts.Port; n.port != 0 {
		return n.Start()
	}
	for try := 1; ; try++ {
		port, err := nextPort()
		if err != nil {
			return err
		}
		n.port = port
		err = n.Start()
		if err == nil || try == startTries || !portBusy(port) {
			return err
		}
	}
}

// Start starts a stopped server again, on the same port and store, and returns
// when it accepts connections. On a running server it does nothing.
func (n *NATS) Start() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return fmt.Errorf("start nats: %w", errClosed)
	}
	if n.server != nil && n.server.Running() {
		return nil
	}
	if err := n.launch(); err != nil {
		n.stop()
		return fmt.Errorf("start nats: %w", err)
	}
	return nil
}

func (n *NATS) launch() error {
	log, err := openNATSLog(filepath.Join(n.dir, natsLogName))
	if err != nil {
		return err
	}
	n.log = log
	if n.server, err = server.NewServer(n.options()); err != nil {
		return err
	}
	n.server.SetLoggerV2(log, false, false, false)
	n.server.Start() // returns when it listens, or has failed fatally
	if err := log.fatal(); err != nil {
		return err
	}
	if !n.server.ReadyForConnections(natsReadyLimit) {
		return fmt.Errorf("it accepts no connections after %s", natsReadyLimit)
	}
	return nil
}

// options are made anew for each start, because a server changes its own.
func (n *NATS) options() *server.Options {
	opts := &server.Options{
		ServerName: "holdfast-" + strconv.Itoa(n.port),
		Host:       loopback,
		Port:       n.port,
		NoSigs:     true,
		MaxPayload: n.opts.MaxPayload,
		JetStream:  true,
		StoreDir:   filepath.Join(n.dir, "store"),
	}
	if n.opts.Configure != nil {
		n.opts.Configure(opts)
	}
	return opts
}

// Stop shuts the server down and returns when it has ended. What it stored
// stays. On a stopped server it does nothing.
func (n *NATS) Stop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stop()
}

func (n *NATS) stop() {
	if n.server != nil {
		n.server.Shutdown()
		n.server.WaitForShutdown()
	}
	if n.log != nil {
		n.log.close()
	}
}

// Close stops the server for good and removes its directory, unless the caller
// named it. Closing twice is harmless.
func (n *NATS) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil
	}
	n.closed = true
	n.stop()
	if n.work != nil {
		return n.work.remove()
	}
	return nil
}

// URL returns the address for clients, which stays the same until Close.
func (n *NATS) URL() string {
	return "nats://" + net.JoinHostPort(loopback, strconv.Itoa(n.port))
}

// Port returns the port, which stays the same until Close.
func (n *NATS) Port() int { return n.port }

// Server returns the server of the last start. Start makes a new one.
func (n *NATS) Server() *server.Server {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.server
}

// Log returns what the server logged, over all its starts: notices, warnings
// and errors.
func (n *NATS) Log() (string, error) {
	content, err := os.ReadFile(filepath.Join(n.dir, natsLogName))
	return string(content), err
}
