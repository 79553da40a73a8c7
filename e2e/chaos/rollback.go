package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/e2e/fault"
	"github.com/holdfast-dev/holdfast/e2e/history"
)

// rollBack gives the server an earlier copy of its store, as a machine does that loses what it had not
// written to its disk. What is gone by it is read from the store as it was, by a server that nobody else
// talks to, so that the checker knows it to the message.
func (t *trial) rollBack(ctx context.Context, step Step) {
	repair, cancel := context.WithTimeout(context.WithoutCancel(ctx), restartLimit)
	defer cancel()
	dir, err := os.MkdirTemp(t.servers.dir, "store-")
	if err != nil {
		t.giveUp(step.Kind, err)
		return
	}
	node := t.servers.nodes.Nodes[0]
	early, late := filepath.Join(dir, "early"), filepath.Join(dir, "late")
	if err := errors.Join(node.Stop(), node.SaveStore(storeIn(early)), node.Start()); err != nil {
		t.giveUp(step.Kind, err)
		return
	}
	sleep(ctx, step.For)
	err = errors.Join(node.Stop(), node.SaveStore(storeIn(late)), node.RestoreStore(storeIn(early)))
	at := time.Now()
	if err = errors.Join(err, node.Start()); err != nil {
		t.giveUp(step.Kind, err)
		return
	}
	lost, err := t.removed(repair, early, late)
	if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
		t.giveUp(step.Kind, err)
		return
	}
	if len(lost) > 0 {
		t.record.Rollback(history.Rollback{At: at, Lost: lost})
		t.tookEffect(step.Kind)
	}
}

// storeIn is where a server has its store whose directory is dir.
func storeIn(dir string) string { return filepath.Join(dir, "store") }

// removed returns what the later store has and the earlier one has not.
func (t *trial) removed(ctx context.Context, early, late string) ([]history.Message, error) {
	had, err := t.readStore(ctx, late)
	if err != nil {
		return nil, err
	}
	has, err := t.readStore(ctx, early)
	if err != nil {
		return nil, err
	}
	same := func(a, b history.Message) bool { return a.Sequence == b.Sequence && a.MessageID == b.MessageID }
	if len(has) > len(had) || !slices.EqualFunc(has, had[:len(has)], same) {
		return nil, fmt.Errorf("a store of %d messages is not the beginning of a later one of %d", len(has), len(had))
	}
	return had[len(has):], nil
}

// readStore reads the stream out of a copy of the server's store.
func (t *trial) readStore(ctx context.Context, dir string) (list []history.Message, err error) {
	node, err := fault.StartNode(fault.NodeOptions{Dir: dir, Name: t.servers.nodes.Nodes[0].Name()})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, node.Close()) }()
	source := t.servers.source()
	source.Servers = node.URL()
	return history.ReadStream(ctx, source)
}

// giveUp notes that a fault could not be made, after which nothing can be judged.
func (t *trial) giveUp(k Kind, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.broken = errors.Join(t.broken, fmt.Errorf("%s: %w", k, err))
}
