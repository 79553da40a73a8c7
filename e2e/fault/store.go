package fault

import (
	"errors"
	"fmt"
	"os"
)

// SaveStore copies what the server has stored. The server must not run: what a
// running one is writing would be torn.
func (n *Node) SaveStore(dir string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.mustNotRun(); err != nil {
		return fmt.Errorf("save the store of %s: %w", n.opts.Name, err)
	}
	return os.CopyFS(dir, os.DirFS(n.storeDir()))
}

// RestoreStore makes a saved store the server's, as a rollback does: after it, everything that
// was acknowledged since the copy is gone.
func (n *Node) RestoreStore(dir string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.mustNotRun(); err != nil {
		return fmt.Errorf("restore the store of %s: %w", n.opts.Name, err)
	}
	if err := os.RemoveAll(n.storeDir()); err != nil {
		return err
	}
	return os.CopyFS(n.storeDir(), os.DirFS(dir))
}

// EmptyStore removes everything that the server has stored.
func (n *Node) EmptyStore() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.mustNotRun(); err != nil {
		return fmt.Errorf("empty the store of %s: %w", n.opts.Name, err)
	}
	return os.RemoveAll(n.storeDir())
}

func (n *Node) mustNotRun() error {
	if n.proc != nil && n.proc.Running() {
		return errors.New("it is running")
	}
	return nil
}
