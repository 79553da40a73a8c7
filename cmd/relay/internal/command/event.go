package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/cmd/relay/internal/settings"
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

// eventFlags is databaseFlags for the log as a relay group sees it.
func eventFlags(c *cobra.Command, p Process) func(context.Context, ...settings.Need) (*eventLog, error) {
	return databaseFlags(c, p, canonical.Relay, openEvents)
}

func openEvents(ctx context.Context, pool *pgxpool.Pool, loaded *settings.Loaded) (*eventLog, error) {
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

// writeEach writes what is known of the events with an id, with an empty line between them.
func writeEach[T any](w io.Writer, format output.Format, found []T, write func(T, io.Writer) error) error {
	if format == output.JSON {
		return output.WriteJSON(w, output.JSON, map[string]any{"events": found})
	}
	for i, e := range found {
		if i > 0 {
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		if err := write(e, w); err != nil {
			return err
		}
	}
	return nil
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
