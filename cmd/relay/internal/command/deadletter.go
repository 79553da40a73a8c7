package command

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/relay/internal/settings"
	"github.com/holdfast-dev/holdfast/outbox"
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

// deadLetterFlags gives a command the flags of the database, and returns how to open it once they
// are parsed. The caller closes the pool.
func deadLetterFlags(c *cobra.Command, p Process) func(ctx context.Context) (*deadLetters, error) {
	load := settingFlags(c, p, settings.Database)
	timeout := c.Flags().Duration("timeout", 10*time.Second, "How long connecting and checking the schema may take")
	inGroup(c, connectionFlags, "timeout")
	return func(ctx context.Context) (*deadLetters, error) {
		loaded, err := load(settings.NeedDatabase)
		if err != nil {
			return nil, err
		}
		pool, err := openPool(ctx, &loaded.Settings, 1)
		if err != nil {
			return nil, err
		}
		d, err := openDeadLetters(ctx, pool, loaded, *timeout)
		if err != nil {
			pool.Close()
		}
		return d, err
	}
}

func openDeadLetters(ctx context.Context, pool *pgxpool.Pool, loaded *settings.Loaded, timeout time.Duration) (*deadLetters, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if _, err := outbox.Verify(ctx, pool, loaded.Schema, canonical.Relay); err != nil {
		return nil, fmt.Errorf("check the database: %w", err)
	}
	store, err := retry.New(pool, retry.Config{Schema: loaded.Schema, Group: loaded.Group})
	if err != nil {
		return nil, err
	}
	return &deadLetters{Store: store, pool: pool, database: databaseName(pool.Config()), group: loaded.Group}, nil
}

// databaseName says which database it is, so that nobody takes it for another one.
func databaseName(cfg *pgxpool.Config) string {
	c := cfg.ConnConfig
	return fmt.Sprintf("%s at %s", c.Database, net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port))))
}
