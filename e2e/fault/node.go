package fault

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	nodeEnv        = "HOLDFAST_NATS_NODE" // holds a nodeConfig, in the child
	nodeReadyLimit = 90 * time.Second
	nodeStopLimit  = 60 * time.Second
	nodeReady      = "ready"
)

// NodeOptions says how a nats-server process is made. The zero value is one server with
// JetStream.
type NodeOptions struct {
	// Dir holds the store and the log. Defaults to a new temporary directory, which
	// Close removes.
	Dir string
	// Name of the server. Defaults to "node".
	Name string
	// MaxPayload is the largest message, in bytes. Defaults to the server's own default.
	MaxPayload int32
	// SyncAlways has the server write to the disk before it acknowledges.
	SyncAlways bool
	// CatchUpBytes is how much a server that leads streams has on its way, at most, to those that lag behind. Defaults to
	// the server's own default, 64 MiB.
	CatchUpBytes int64

	cluster string   // its name; "" for a server alone
	peer    int      // port for the other nodes
	routes  []string // to the other nodes
}

// nodeConfig is what the child is told.
type nodeConfig struct {
	Name, Dir, Cluster string
	Port, Peer         int
	Routes             []string
	MaxPayload         int32
	SyncAlways         bool
	CatchUpBytes       int64
}

// Node is a nats-server with JetStream in a process of its own. It keeps its port and its
// store from one start to the next. Its methods are safe for concurrent use.
//
// The process is this very program again: its main function must call [RunNode] when
// [IsNode] says so.
type Node struct {
	opts NodeOptions
	port int
	temp bool // Dir is ours to remove

	mu     sync.Mutex // serialises all that follows
	proc   *Process   // nil before the first start
	paused bool
	closed bool
}

// StartNode starts a server alone and returns when it accepts connections.
func StartNode(opts NodeOptions) (*Node, error) {
	n, err := newNode(opts)
	if err != nil {
		return nil, err
	}
	if err := n.Start(); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// newNode prepares a server without starting it.
func newNode(opts NodeOptions) (*Node, error) {
	n := &Node{opts: opts}
	if n.opts.Name == "" {
		n.opts.Name = "node"
	}
	var err error
	if n.port, err = freePort(); err != nil {
		return nil, err
	}
	if n.opts.Dir == "" {
		n.temp = true
		if n.opts.Dir, err = os.MkdirTemp("", "holdfast-node-"); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// Start starts a server that is not running and returns when it accepts connections. In a
// cluster that does not mean that there is a leader.
func (n *Node) Start() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return errors.New("start a nats node: it is closed")
	}
	if n.proc != nil && n.proc.Running() {
		return nil
	}
	if err := n.launch(); err != nil {
		return fmt.Errorf("start nats node %s: %w", n.opts.Name, err)
	}
	return nil
}

func (n *Node) launch() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	config, err := json.Marshal(nodeConfig{
		Name: n.opts.Name, Dir: n.opts.Dir, Cluster: n.opts.cluster, Port: n.port, Peer: n.opts.peer, Routes: n.opts.routes,
		MaxPayload: n.opts.MaxPayload, SyncAlways: n.opts.SyncAlways, CatchUpBytes: n.opts.CatchUpBytes,
	})
	if err != nil {
		return err
	}
	log, err := os.OpenFile(n.logPath(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the child has its own
	says, tells, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = says.Close() }() // it was only read
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), nodeEnv+"="+string(config))
	cmd.Stdout, cmd.Stderr = tells, log
	n.paused = false
	n.proc, err = StartProcess(cmd)
	_ = tells.Close() // the child has its own
	if err != nil {
		return err
	}
	return n.awaitReady(says)
}

// awaitReady reads what the child says until it is ready or ends.
func (n *Node) awaitReady(says *os.File) error {
	if err := says.SetReadDeadline(time.Now().Add(nodeReadyLimit)); err != nil {
		return err
	}
	for r := bufio.NewReader(says); ; {
		line, err := r.ReadString('\n')
		switch {
		case strings.TrimSpace(line) == nodeReady:
			return nil
		case errors.Is(err, io.EOF):
			<-n.proc.Done()
			return fmt.Errorf("it ended: %w\n%s", n.proc.Err(), n.Log())
		case err != nil:
			n.proc.Kill()
			return fmt.Errorf("it did not become ready: %w\n%s", err, n.Log())
		}
	}
}

// Kill ends the server with SIGKILL. What it had handed to the operating system stays.
func (n *Node) Kill() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.proc != nil {
		n.proc.Kill()
	}
}

// Stop ends the server in order.
func (n *Node) Stop() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.stop()
}

func (n *Node) stop() error {
	if n.proc == nil || !n.proc.Running() {
		return nil
	}
	return n.proc.Stop(nodeStopLimit)
}

// Pause makes the server stand still: SIGSTOP.
func (n *Node) Pause() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.paused = true
	return n.proc.Pause()
}

// Resume lets it go on: SIGCONT.
func (n *Node) Resume() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.paused = false
	return n.proc.Resume()
}

// Running says whether the server runs, and does not stand still.
func (n *Node) Running() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.proc != nil && n.proc.Running() && !n.paused
}

// Close ends the server for good and removes its directory, unless the caller named it.
func (n *Node) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil
	}
	n.closed = true
	if n.proc != nil {
		n.proc.Kill()
	}
	if n.temp {
		return os.RemoveAll(n.opts.Dir)
	}
	return nil
}

// URL returns the address for clients, which stays the same until Close.
func (n *Node) URL() string { return "nats://" + joinPort(n.port) }

// Name returns the name of the server.
func (n *Node) Name() string { return n.opts.Name }

// Log returns what the server logged, over all its starts.
func (n *Node) Log() string {
	content, err := os.ReadFile(n.logPath())
	if err != nil {
		return err.Error()
	}
	return string(content)
}

func (n *Node) logPath() string { return filepath.Join(n.opts.Dir, "nats.log") }

func (n *Node) storeDir() string { return filepath.Join(n.opts.Dir, "store") }
