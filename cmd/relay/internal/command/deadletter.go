package command

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/relay/internal/settings"
	"github.com/holdfast-dev/holdfast/relay/retry"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

func deadLetterCommand(p Process) *cobra.Command {
	return noun(&cobra.Command{
		Use:     "dead-letter",
		Short:   "Look at events that were given up, and decide about them",
		Long:    effects("with requeue and discard, the dead letters; who did it and why is kept.", "shows a payload, or changes the log of events."),
		Example: "  relay dead-letter list --group-by reason,type",
	}, deadLetterListCommand(p), deadLetterShowCommand(p), deadLetterRequeueCommand(p), deadLetterDiscardCommand(p))
}

// deadLetters are those of one relay group in one database.
type deadLetters struct {
	*retry.Store
	pool            *pgxpool.Pool
	database, group string // for people
}

// deadLetterFlags is databaseFlags for the dead letters of a relay group.
func deadLetterFlags(c *cobra.Command, p Process) func(context.Context, ...settings.Need) (*deadLetters, error) {
	return databaseFlags(c, p, canonical.Relay, func(_ context.Context, pool *pgxpool.Pool, loaded *settings.Loaded) (*deadLetters, error) {
		store, err := retry.New(pool, retry.Config{Schema: loaded.Schema, Group: loaded.Group})
		if err != nil {
			return nil, err
		}
		return &deadLetters{Store: store, pool: pool, database: databaseName(pool.Config()), group: loaded.Group}, nil
	})
}
