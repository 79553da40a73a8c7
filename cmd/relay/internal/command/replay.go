package command

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/cmd/relay/internal/settings"
	"github.com/holdfast-dev/holdfast/outbox/wire"
	"github.com/holdfast-dev/holdfast/relay"
	"github.com/holdfast-dev/holdfast/relay/replay"
)

func replayCommand(p Process) *cobra.Command {
	c := verb(&cobra.Command{
		Use:   "replay",
		Short: "Publish settled events again, on purpose",
		Long: effects("with --apply, the stream: it gets the events once more, under ids with an epoch. Otherwise nothing.",
			"publishes an event that is held, on its way or given up, or changes the database.") +
			"\n\nIt shows what it would publish, and does nothing without --apply; then it asks, and without a terminal,\n" +
			"or with -o json, needs --yes. Events go out in the order of the log. To another place: --to-prefix,\n" +
			"and --stream if another stream has those subjects. Exit status 0 done, 1 the stream has none of the subjects,\n" +
			"6 a part: it says how to go on.",
		Example: "  relay replay --stream ORDERS --since 2h --type order.placed\n" +
			"  relay replay --stream AGAIN --to-prefix again --since 2h --rate 500 --apply --yes",
	})
	var since, until moment
	var cfg replay.Config
	f := c.Flags()
	f.Var(&since, "since", "Only events that entered the log at this time or later: 2h (ago), RFC 3339, or \"2026-11-29 10:00Z\"; needed")
	f.Var(&until, "until", "Only events that entered the log before this time; now if not given")
	f.StringVar(&cfg.Type, "type", "", "Only events of this type")
	f.StringVar(&cfg.Key, "key", "", "Only events of this ordering key")
	f.StringVar(&cfg.Prefix, "to-prefix", "", "What {prefix} stands for in the subjects, instead of --subject-prefix")
	f.Int64Var(&cfg.Epoch, "epoch", 0, "Number of this replay in the message ids; the present microsecond if not given")
	f.Int64Var(&cfg.After, "after", 0, "Go on behind this number of the log, under the same --epoch")
	f.Int64Var(&cfg.Limit, "limit", 0, "How many events at most; all if not given")
	f.Float64Var(&cfg.Rate, "rate", 0, "How many events in a second; as many as it takes if not given")
	apply := f.Bool("apply", false, "Do it")
	yes := f.Bool("yes", false, "Do not ask")
	inGroup(c, commonFlags, "since", "until", "type", "key", "to-prefix", "epoch", "after", "limit", "rate", "apply", "yes")
	load := settingFlags(c, p, settings.Database, settings.NATS, settings.Stream)
	format := outputFlag(c, output.Text, output.JSON)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := checkReplay(cmd, &cfg, since, until); err != nil {
			return err
		}
		loaded, err := load(settings.NeedDatabase, settings.NeedNATS, settings.NeedStream)
		if err != nil {
			return err
		}
		cfg.Relay, cfg.Since, cfg.Until = loaded.Relay(), since.at, until.at
		if err := checkPrefix(cfg); err != nil {
			return err
		}
		pool, err := openPool(cmd.Context(), &loaded.Settings, 1)
		if err != nil {
			return err
		}
		defer pool.Close()
		js, err := dialFor(cmd, &loaded.Settings)
		if err != nil {
			return err
		}
		defer js.Conn().Close()
		r := replaying{cmd: cmd, pool: pool, js: js, cfg: cfg, format: format.Format(), apply: *apply, yes: *yes}
		return r.run()
	}
	return c
}

// checkReplay refuses flags that cannot be meant.
func checkReplay(cmd *cobra.Command, cfg *replay.Config, since, until moment) error {
	given := cmd.Flags().Changed
	switch {
	case since.at.IsZero():
		return exit.Errorf(exit.Usage, "relay replay needs --since").WithHint("say from when on to publish again, such as --since 2h")
	case cfg.Epoch < 0 || cfg.After < 0:
		return exit.Errorf(exit.Usage, "--epoch and --after cannot be negative")
	case given("limit") && cfg.Limit < 1:
		return exit.Errorf(exit.Usage, "--limit %d: must be 1 or more", cfg.Limit).WithHint("leave it out for all")
	case given("rate") && !(cfg.Rate > 0) || math.IsInf(cfg.Rate, 0):
		return exit.Errorf(exit.Usage, "--rate %g: must be a number above 0", cfg.Rate).WithHint("leave it out for as many as it takes")
	case cfg.After > 0 && cfg.Epoch == 0:
		return exit.Errorf(exit.Usage, "--after goes on with a replay, and needs its --epoch").WithHint("the replay that stopped said both")
	}
	return checkWindow(since, until)
}

// checkPrefix refuses a prefix that no subject can begin with.
func checkPrefix(cfg replay.Config) error {
	err := cfg.Validate()
	var wrong *wire.ConfigError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong) && wrong.Field == "Prefix":
		return exit.Errorf(exit.Usage, "--to-prefix %q %s", cfg.Prefix, wrong.Reason).
			WithHint("write the beginning of a subject, words with dots between, such as replayed or replayed.orders")
	default:
		return &exit.Error{Code: exit.Usage, Err: err}
	}
}

// replaying is one call of relay replay.
type replaying struct {
	cmd        *cobra.Command
	pool       *pgxpool.Pool
	js         jetstream.JetStream
	cfg        replay.Config
	format     output.Format
	apply, yes bool
}

func (r *replaying) run() error {
	plan, err := replay.MakePlan(r.cmd.Context(), r.pool, r.cfg)
	if err != nil {
		return replayError(err)
	}
	strays, err := r.strays(plan)
	if err != nil {
		return err
	}
	r.cfg.Epoch = plan.Epoch
	report := newReplayReport(plan, databaseName(r.pool.Config()), r.js.Conn().ConnectedUrlRedacted())
	report.Strays, r.cfg.LeaveStrays = strays.Events, true // there are others, or there is no plan
	if !r.apply || plan.Events == 0 {
		return report.write(r.cmd.OutOrStdout(), r.format, r.apply)
	}
	if r.format == output.Text {
		if err := report.write(r.cmd.OutOrStdout(), r.format, true); err != nil {
			return err
		}
	}
	question := fmt.Sprintf("Publish %s to stream %s again?", output.Count(plan.Events, "event"), plan.Stream)
	if err := confirm(r.cmd, question, r.yes, r.format, "leave --apply out to see the plan only"); err != nil {
		return err
	}
	result, err := r.publish(r.js.Conn(), plan)
	report.done(result)
	if writeErr := report.writeDone(r.cmd.OutOrStdout(), r.format); writeErr != nil {
		return writeErr
	}
	return r.outcome(plan, result, err)
}

// strays finds out what the stream would not take, which is no use to find out later.
func (r *replaying) strays(plan *replay.Plan) (replay.Strays, error) {
	stream, err := r.js.Stream(r.cmd.Context(), plan.Stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return replay.Strays{}, noStream(plan.Stream)
	} else if err != nil {
		return replay.Strays{}, err
	}
	strays, err := plan.Strays(r.cmd.Context(), r.pool, stream.CachedInfo().Config.Subjects)
	if err == nil && strays.All {
		err = wrongStream(&relay.SubjectError{Stream: plan.Stream, Subject: strays.Subject}, plan.Subjects)
	}
	return strays, err
}

// wrongStream is the answer when the stream has none of the subjects.
func wrongStream(err error, subjects string) error {
	return &exit.Error{Code: exit.No, Kind: "refused", Err: err, Hint: fmt.Sprintf(
		"name a stream that has %[1]s with --stream, or give it to this one: relay stream apply --subject '%[1]s'", subjects)}
}

func (r *replaying) publish(nc *nats.Conn, plan *replay.Plan) (replay.Result, error) {
	progress := newProgress(r.cmd.ErrOrStderr())
	defer progress.end()
	cfg := r.cfg
	cfg.Progress = func(result replay.Result) {
		progress.say("published %s of %s", output.Number(result.Published), output.Count(plan.Events, "event"))
	}
	return replay.Run(r.cmd.Context(), r.pool, nc, cfg)
}

// outcome is how the command ends.
func (r *replaying) outcome(plan *replay.Plan, result replay.Result, err error) error {
	var stray *relay.SubjectError
	err = refusedByBroker(r.cmd, err)
	onward := fmt.Sprintf("go on with --epoch %d --after %d", result.Epoch, result.Last)
	switch {
	case err == nil && result.Refused > 0:
		return exit.Errorf(exit.Partial, "the broker refused %s", output.Count(result.Refused, "event")).
			WithHint("raise the size limit of the stream or give it their subjects, or leave them out")
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled) && r.cmd.Context().Err() != nil:
		return &exit.Error{Code: exit.Interrupted, Err: fmt.Errorf("interrupted: %w", context.Cause(r.cmd.Context())), Hint: onward}
	case result.Published > 0:
		return &exit.Error{Code: exit.Partial, Err: err, Hint: onward}
	case errors.As(err, &stray):
		return wrongStream(err, plan.Subjects)
	default:
		return replayError(err)
	}
}

func replayError(err error) error {
	if errors.Is(err, replay.ErrNoGroup) {
		return noGroup(err)
	}
	return err
}
