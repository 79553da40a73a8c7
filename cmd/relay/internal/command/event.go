package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/relay/internal/settings"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/relay/events"
	"github.com/holdfast-dev/holdfast/relay/retry"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

func eventCommand(p Process) *cobra.Command {
	return noun(&cobra.Command{
		Use:     "event",
		Short:   "Look at events of the log, and at what became of them",
		Long:    effects("nothing.", "stages or publishes an event: the transaction of a service stages, and relay run publishes."),
		Example: "  relay event list --state waiting",
	}, eventListCommand(p), eventShowCommand(p), eventTraceCommand(p))
}

// eventLog is the log of one database as one relay group sees it.
type eventLog struct {
	*events.Reader
	lanes
	letters *retry.Store
	keep    time.Duration // how long events stay; 0 is what the schema says
}

// eventFlags gives a command the flags of the database, and returns how to open it once they are
// parsed. The caller closes the pool.
func eventFlags(c *cobra.Command, p Process) func(ctx context.Context) (*eventLog, error) {
	load := settingFlags(c, p, settings.Database)
	timeout := c.Flags().Duration("timeout", 10*time.Second, "How long connecting and checking the schema may take")
	inGroup(c, connectionFlags, "timeout")
	return func(ctx context.Context) (*eventLog, error) {
		loaded, err := load(settings.NeedDatabase)
		if err != nil {
			return nil, err
		}
		pool, err := openPool(ctx, &loaded.Settings, 1)
		if err != nil {
			return nil, err
		}
		l, err := openEvents(ctx, pool, loaded, *timeout)
		if err != nil {
			pool.Close()
		}
		return l, err
	}
}

func openEvents(ctx context.Context, pool *pgxpool.Pool, loaded *settings.Loaded, timeout time.Duration) (*eventLog, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if _, err := outbox.Verify(ctx, pool, loaded.Schema, canonical.Relay); err != nil {
		return nil, fmt.Errorf("check the database: %w", err)
	}
	reader, err := events.New(ctx, pool, loaded.Schema, loaded.Group)
	if errors.Is(err, events.ErrNoGroup) {
		return nil, missingGroup(loaded.Group)
	}
	if err != nil {
		return nil, err
	}
	letters, err := retry.New(pool, retry.Config{Schema: loaded.Schema, Group: loaded.Group})
	if err != nil {
		return nil, err
	}
	return &eventLog{
		Reader: reader, letters: letters, keep: loaded.Retention,
		lanes: lanes{pool: pool, schema: loaded.Schema, group: loaded.Group, database: databaseName(pool.Config())},
	}, nil
}

// notFound says that nothing has an event.
func (l *eventLog) notFound(id string) error {
	return exit.Errorf(exit.NotFound, "there is no event %s in the log or the dead letters of %s", plain(id), l.database).
		WithHint("it was never committed, was dropped or cancelled while held, or its slot was emptied: relay event trace %s and relay reconcile may know more", plain(id))
}

// sqlState is the SQLSTATE of an error of the database; "" for any other.
func sqlState(err error) string {
	var server *pgconn.PgError
	if errors.As(err, &server) {
		return server.Code
	}
	return ""
}
