package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/holdfast-dev/holdfast/e2e/fault"
)

// eaters is how many consumers there are.
const eaters = 2

// eater is the place of one consumer. Consumers come and go in it; its proxy stays.
type eater struct {
	number  int
	servers *servers
	pg      *fault.PostgresProxy

	// busy is held by the fault that has the consumer killed, stopped or standing still.
	busy sync.Mutex

	mu     sync.Mutex // guards the fields below
	proc   *fault.Process
	log    string // path
	starts int
	wanted bool     // it should be running
	faults []string // what was wrong with its processes
}

func newEater(number int, s *servers) (e *eater, err error) {
	e = &eater{number: number, servers: s}
	e.pg, err = fault.NewPostgresProxy(s.pg.URL(consumed))
	return e, err
}

// start starts a consumer. Of the two, one applies events one by one, and the other several in one
// transaction.
func (e *eater) start() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.starts++
	name := fmt.Sprintf("consumer-%d.%d", e.number+1, e.starts)
	url, err := e.pg.URL(e.servers.pg.URL(consumed), "application_name", name)
	if err != nil {
		return err
	}
	settings, err := json.Marshal(consumerSettings{
		Database: strings.Replace(url, "postgres://postgres@", "postgres://postgres:"+secretMark+"@", 1),
		NATS:     strings.Join(e.servers.nodes.URLs(), ","), Stream: streamName, Batch: 1 + 15*e.number,
	})
	if err != nil {
		return err
	}
	e.log = filepath.Join(e.servers.dir, name+".log")
	log, err := os.Create(e.log)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the child has its own
	cmd := exec.Command(e.servers.consumer)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), consumerEnv+"="+string(settings)), log, log
	if e.proc, err = fault.StartProcess(cmd); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	e.wanted = true
	return nil
}

// kill ends the consumer with SIGKILL.
func (e *eater) kill() { e.unwanted().Kill() }

// stop asks the consumer to end, which it must do in order.
func (e *eater) stop() {
	proc := e.unwanted()
	if err := proc.Stop(stopLimit); err != nil && e.hasBegun() {
		e.fault("consumer %d did not stop in order: %v", e.number+1, err)
	}
}

// unwanted notes whether the consumer has ended by itself, and that from here on it may end.
func (e *eater) unwanted() *fault.Process {
	e.mu.Lock()
	ended := e.wanted && !e.proc.Running()
	e.wanted = false
	proc := e.proc
	e.mu.Unlock()
	if ended {
		e.fault("consumer %d ended by itself: %v", e.number+1, proc.Err())
	}
	return proc
}

// hasBegun says whether the consumer has written anything. Before that it has not heard of signals.
func (e *eater) hasBegun() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	info, err := os.Stat(e.log)
	return err != nil || info.Size() > 0
}

func (e *eater) process() *fault.Process {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.proc
}

func (e *eater) fault(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.faults = append(e.faults, fmt.Sprintf(format, args...))
}

func (e *eater) try(what string, err error) {
	if err != nil {
		e.fault("%s: %v", what, err)
	}
}

func (e *eater) close() error {
	if e.proc != nil {
		e.proc.Kill()
	}
	if e.pg == nil {
		return errors.New("no proxy of a consumer")
	}
	return e.pg.Close()
}
