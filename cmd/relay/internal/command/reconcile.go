package command

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/cmd/relay/internal/settings"
	"github.com/holdfast-dev/holdfast/relay/reconcile"
)

func reconcileCommand(p Process) *cobra.Command {
	c := verb(&cobra.Command{
		Use:   "reconcile",
		Short: "Compare the stream with the events that are settled",
		Long: effects("with --repair --apply, the stream: settled events that it does not have are published again under\n"+
			"         their ids. Otherwise nothing.", "deletes or changes a message, publishes what is held, or shows a payload.") +
			"\n\nIt reads every message of the window, and keeps one transaction open that only reads. Without a\n" +
			"window everything is compared. Run it as the relay's role. Exit status 0 if everything is explained,\n" +
			"1 if not, 6 if only a part was repaired. With --apply it asks; without a terminal, and with -o json, it\n" +
			"needs --yes.",
		Example: "  relay reconcile --stream ORDERS --since 2h\n  relay reconcile --stream ORDERS --repair --apply --yes",
	})
	var since, until moment
	f := c.Flags()
	f.Var(&since, "since", "Only events that entered the log at this time or later: 2h (ago), RFC 3339, or \"2026-11-29 10:00Z\"")
	f.Var(&until, "until", "Only events that entered the log before this time")
	repair := f.Bool("repair", false, "Say what would be published again, or with --apply publish it")
	apply := f.Bool("apply", false, "With --repair: do it")
	yes := f.Bool("yes", false, "Do not ask")
	examples := f.Int("examples", 10, "How many examples of each finding to show, 0 to 1000")
	inGroup(c, commonFlags, "since", "until", "repair", "apply", "yes", "examples")
	load := settingFlags(c, p, settings.Database, settings.NATS, settings.Stream)
	format := outputFlag(c, output.Text, output.JSON)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case *apply && !*repair:
			return exit.Errorf(exit.Usage, "--apply says to repair, which --repair chooses").WithHint("add --repair, or leave --apply out")
		case *examples < 0 || *examples > 1000:
			return exit.Errorf(exit.Usage, "--examples %d: must be 0 to 1000", *examples)
		}
		if err := checkWindow(since, until); err != nil {
			return err
		}
		pool, loaded, err := openLoaded(cmd.Context(), load, settings.NeedNATS, settings.NeedStream)
		if err != nil {
			return err
		}
		defer pool.Close()
		js, err := dialFor(cmd, &loaded.Settings)
		if err != nil {
			return err
		}
		defer js.Conn().Close()
		cfg := reconcile.Config{Relay: loaded.Relay(), Since: since.at, Until: until.at, Examples: *examples}
		if *examples == 0 {
			cfg.Examples = -1
		}
		run := reconciling{cmd: cmd, pool: pool, nc: js.Conn(), cfg: cfg, format: format.Format(), repair: *repair, apply: *apply, yes: *yes}
		return reconcileError(run.run(), loaded.Stream)
	}
	return c
}

// checkWindow refuses a window that nothing can be in.
func checkWindow(since, until moment) error {
	if !since.at.IsZero() && !until.at.IsZero() && !since.at.Before(until.at) {
		return exit.Errorf(exit.Usage, "--since %s is not before --until %s", since.text, until.text)
	}
	return nil
}

// reconciling is one call of relay reconcile.
type reconciling struct {
	cmd                *cobra.Command
	pool               *pgxpool.Pool
	nc                 *nats.Conn
	cfg                reconcile.Config
	format             output.Format
	repair, apply, yes bool
}

func (c *reconciling) run() error {
	if c.apply && c.yes {
		return c.mend()
	}
	const look = "leave --apply out to see only what would be published"
	if c.apply && c.format != output.Text {
		return confirm(c.cmd, "", false, c.format, look)
	}
	report, err := c.compare(false)
	if err != nil {
		return err
	}
	missing := report.Counts[reconcile.Missing]
	if !c.apply || missing == 0 {
		return c.finish(report)
	}
	if err := c.write(report); err != nil {
		return err
	}
	question := fmt.Sprintf("Publish %s to stream %s again?", output.Count(missing, "missing event"), report.Stream)
	if err := confirm(c.cmd, question, false, c.format, look); err != nil {
		return err
	}
	return c.mend()
}

// mend compares and publishes what is missing.
func (c *reconciling) mend() error {
	report, err := c.compare(true)
	if err == nil {
		return c.finish(report)
	}
	if report != nil && report.Repair.Published > 0 {
		return &exit.Error{Code: exit.Partial, Hint: "what was published is there: run it again for the rest",
			Err: fmt.Errorf("%s published again, then: %w", output.Count(report.Repair.Published, "event"), err)}
	}
	return err
}

func (c *reconciling) compare(repair bool) (*reconcile.Report, error) {
	progress := newProgress(c.cmd.ErrOrStderr())
	defer progress.end()
	cfg := c.cfg
	cfg.Repair = repair
	cfg.Progress = func(events, messages int64) {
		progress.say("compared %s and %s", output.Count(events, "event"), output.Count(messages, "message"))
	}
	return reconcile.Run(c.cmd.Context(), c.pool, c.nc, cfg)
}

func (c *reconciling) write(report *reconcile.Report) error {
	r := newReconcileReport(report, databaseName(c.pool.Config()), c.nc.ConnectedUrlRedacted(), c.repair && !c.apply)
	return r.write(c.cmd.OutOrStdout(), c.format)
}

// finish writes the report and ends with its answer.
func (c *reconciling) finish(report *reconcile.Report) error {
	if err := c.write(report); err != nil {
		return err
	}
	switch {
	case report.Unexplained() == 0:
		return nil
	case report.Repair != nil && report.Repair.Published > 0:
		return exit.Answer(exit.Partial)
	}
	return exit.Answer(exit.No)
}

func reconcileError(err error, stream string) error {
	switch {
	case errors.Is(err, reconcile.ErrNoGroup):
		return noGroup(err)
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return noStream(stream)
	case errors.Is(err, reconcile.ErrConsumedStream):
		return &exit.Error{Code: exit.No, Kind: "refused", Err: err, Hint: "compare a stream with limits retention: one that mirrors it, for example"}
	}
	return err
}

func noGroup(err error) error {
	return &exit.Error{Code: exit.NotFound, Err: err, Hint: "check RELAY_GROUP; a group is made by the first relay that runs with it"}
}

func noStream(stream string) error {
	return exit.Errorf(exit.NotFound, "there is no stream %s", stream).WithHint("check RELAY_STREAM; relay stream plan says what would be created")
}
