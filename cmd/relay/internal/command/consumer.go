package command

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/suggest"
	"github.com/holdfast-dev/holdfast/cmd/relay/internal/settings"
	"github.com/holdfast-dev/holdfast/consumers/people"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

func consumerCommand(p Process) *cobra.Command {
	return noun(&cobra.Command{
		Use:   "consumer",
		Short: "Look at consumers and what they could not handle, pause, replay, check and repair them",
		Long: effects("with pause, resume, replay, requeue, discard, resolve and repair, what a consumer's database has to say; who\n"+
			"         did it and why is kept.", "applies an event by itself, or shows a payload or an attribute.") +
			"\n\nRELAY_DATABASE_URL is the database of the consumer, and RELAY_SCHEMA where its component lies.",
		Example: "  relay consumer list",
	}, consumerListCommand(p), consumerShowCommand(p), consumerPauseCommand(p), consumerResumeCommand(p), consumerDeadLetterCommand(p),
		consumerQuarantineCommand(p), consumerReplayCommand(p), consumerCheckCommand(p), consumerReconcileCommand(p), consumerRepairCommand(p))
}

// consumerDatabase is the database of consumers.
type consumerDatabase struct {
	*people.Store
	pool     *pgxpool.Pool
	loaded   *settings.Loaded
	schema   string
	database string // for people
}

// consumerFlags is databaseFlags for the consumers of a database.
func consumerFlags(c *cobra.Command, p Process, sections ...settings.Section) func(context.Context, ...settings.Need) (*consumerDatabase, error) {
	open := databaseFlags(c, p, canonical.Consumer, func(_ context.Context, pool *pgxpool.Pool, loaded *settings.Loaded) (*consumerDatabase, error) {
		store, err := people.New(pool, loaded.Schema)
		if err != nil {
			return nil, err
		}
		return &consumerDatabase{Store: store, pool: pool, loaded: loaded, schema: loaded.Schema, database: databaseName(pool.Config())}, nil
	}, sections...)
	if group := c.Flags().Lookup("group"); group != nil {
		group.Hidden = true // that of a relay
	}
	return open
}

// known refuses consumers of which the database knows nothing.
func (d *consumerDatabase) known(ctx context.Context, names ...string) error {
	all, err := d.Overviews(ctx, "")
	if err != nil {
		return err
	}
	has := make([]string, len(all))
	for i, o := range all {
		has[i] = o.Name
	}
	for _, name := range names {
		if slices.Contains(has, name) {
			continue
		}
		wrong := exit.Errorf(exit.NotFound, "no consumer %s has ever handled anything in %s", name, d.database)
		if near := suggest.Nearest(name, has); near != "" {
			return wrong.WithHint("did you mean %s?", near)
		}
		return wrong.WithHint("relay consumer list shows those that have; --consumer names those of a group that is called otherwise, --new says that it is new")
	}
	return nil
}
