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

// decision is who decides something, why, and whether to ask.
type decision struct {
	actor, reason string
	apply, yes    bool
}

// decisionFlags gives a command the flags of a decision. With bulk it also has --apply.
func decisionFlags(c *cobra.Command, bulk bool) *decision {
	d := &decision{}
	f := c.Flags()
	if bulk {
		f.BoolVar(&d.apply, "apply", false, "Do it; needed when flags choose")
	}
	f.BoolVar(&d.yes, "yes", false, "Do not ask")
	f.StringVar(&d.reason, "reason", "", "Why, 1 to 1000 bytes; kept")
	f.StringVar(&d.actor, "actor", "", "Who does it, 1 to 255 bytes; the user of this machine if not given")
	inGroup(c, commonFlags, "apply", "yes", "reason", "actor")
	return d
}

// check refuses a decision that nobody has signed, before anything is connected to.
func (d *decision) check(cmd *cobra.Command, p Process) error {
	if d.actor == "" {
		d.actor = userName(p.Environ)
	}
	switch {
	case d.reason == "":
		return exit.Errorf(exit.Usage, "%s needs --reason", cmd.CommandPath()).WithHint("say why in a few words: they are kept")
	case len(d.reason) > 1000:
		return exit.Errorf(exit.Usage, "--reason has %d bytes: must be 1 to 1000", len(d.reason))
	case d.actor == "" || len(d.actor) > 255:
		return exit.Errorf(exit.Usage, "--actor has %d bytes: must be 1 to 255", len(d.actor)).WithHint("say who does it: --actor NAME")
	}
	return nil
}
