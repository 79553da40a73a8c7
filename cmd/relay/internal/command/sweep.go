package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/relay/internal/settings"
	"github.com/holdfast-dev/holdfast/hold/saga/sweep"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

func sweepCommand(p Process) *cobra.Command {
	return noun(&cobra.Command{
		Use:   "sweep",
		Short: "Find orphans from before there were receipts, and undo them",
		Long: effects("with apply, what the service's own statement of undo changes; who did it and why is kept in a file.",
			"acts on what has a receipt, lacks the mark, or was not reviewed; shows more than ids, codes and counts."),
		Example: "  relay sweep plan --candidates orphans.sql --lock lock.sql --undo undo.sql --manifest orphans.manifest",
	}, sweepPlanCommand(p), sweepApplyCommand(p))
}

// sweeps are those of one participant's database.
type sweeps struct {
	pool     *pgxpool.Pool
	schema   string
	database string // for people
}

// sweepFlags gives a command the flags of the database, and returns how to open it once they are
// parsed. The caller closes the pool.
func sweepFlags(c *cobra.Command, p Process) func(ctx context.Context) (*sweeps, error) {
	load := settingFlags(c, p, settings.Database)
	timeout := c.Flags().Duration("timeout", 10*time.Second, "How long connecting and checking the schema may take")
	inGroup(c, connectionFlags, "timeout")
	return func(ctx context.Context) (*sweeps, error) {
		loaded, err := load(settings.NeedDatabase)
		if err != nil {
			return nil, err
		}
		// Besides the one that acts: what became of a lost one is asked elsewhere.
		pool, err := openPool(ctx, &loaded.Settings, 2)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, *timeout)
		defer cancel()
		if _, err := outbox.Verify(ctx, pool, loaded.Schema, canonical.Hold); err != nil {
			pool.Close()
			return nil, fmt.Errorf("check the database: %w", err)
		}
		return &sweeps{pool: pool, schema: loaded.Schema, database: databaseName(pool.Config())}, nil
	}
}

// readStatement reads the file that a flag names.
func readStatement(flag, path string) (string, error) {
	if path == "" {
		return "", exit.Errorf(exit.Usage, "--%s is missing", flag).WithHint("name a file that holds one statement of the service: docs/holds.md has examples")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", exit.Errorf(exit.Usage, "--%s: %w", flag, err)
	}
	return string(text), nil
}

// sweepError gives an error of a sweep its status. The hints of the package know the service.
func sweepError(err error) error {
	e := &exit.Error{Err: err, Hint: outbox.Hint(err)}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sweep.ErrSeal), errors.Is(err, sweep.ErrForeign), errors.Is(err, sweep.ErrChanged):
		e.Code, e.Kind = exit.No, "refused"
	case errors.Is(err, sweep.ErrRole):
		e.Code = exit.Denied
	case errors.Is(err, sweep.ErrBusy), errors.Is(err, sweep.ErrUnanswered):
		e.Code = exit.Unavailable
	case errors.Is(err, sweep.ErrResults), errors.Is(err, sweep.ErrCandidates):
		e.Code = exit.Usage
	case errors.Is(err, fs.ErrNotExist):
		e.Code = exit.NotFound
	case errors.Is(err, fs.ErrExist):
		e.Code, e.Hint = exit.Usage, "a manifest is never written over: name another file"
	case errors.Is(err, fs.ErrPermission):
		e.Code = exit.Denied
	default:
		return sweepDatabaseError(err)
	}
	return e
}

func sweepDatabaseError(err error) error {
	e := classifyDatabase(err)
	if e == nil {
		return err
	}
	if hint := outbox.Hint(err); hint != "" {
		e.Hint = hint
	}
	if e.Code == exit.Unavailable && outbox.Hint(err) != "" { // a statement of the service that cannot run
		e.Code = exit.Usage
	}
	return e
}
