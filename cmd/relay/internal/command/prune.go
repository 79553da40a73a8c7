package command

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/cmd/relay/internal/settings"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/relay/retention"
)

func pruneCommand(p Process) *cobra.Command {
	c := verb(&cobra.Command{
		Use:   "prune",
		Short: "Empty old slots of the log now, and remove old records",
		Long: effects("destroys the events of slots that every relay group has published and that have been kept for\n"+
			"         long enough, and old lines of batches, of dead letters' history and of the audit of holds.\n"+
			"         Held events are moved out of the way and stay held.",
			"destroys an event that is not settled, waits for a retry, or is held; waits in the queue of a lock.") +
			"\n\nIt runs as the role maintainer (outbox-gen roles), or as the owner of the schema; the plan alone also as operator or\n" +
			"auditor. A relay's own role may not see the view that is counted.\n" +
			"A running relay does the same every minute (RELAY_MAINTENANCE). The plan reads the whole log once, to\n" +
			"count. Exit status 0 done or nothing to do; 1 refused: a slot that is old enough is still needed; 5 busy: try\n" +
			"again; 6 some slots were emptied and others not. Without a terminal, and with -o json, it needs --yes.",
		Example: "  relay prune --dry-run\n  relay prune --yes",
	})
	load := settingFlags(c, p, settings.Database, settings.Retention)
	format := outputFlag(c, output.Text, output.JSON)
	dryRun := c.Flags().Bool("dry-run", false, "Show the plan and change nothing")
	yes := c.Flags().Bool("yes", false, "Do not ask")
	inGroup(c, commonFlags, "dry-run", "yes")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		pool, loaded, err := openLoaded(cmd.Context(), load)
		if err != nil {
			return err
		}
		defer pool.Close()
		cfg := loaded.Keeper()
		cfg.Logger = slog.New(slog.DiscardHandler) // the report says it
		return pruneError(runPrune(cmd, pool, cfg, *dryRun, *yes, format.Format()))
	}
	return c
}

func runPrune(cmd *cobra.Command, pool *pgxpool.Pool, cfg retention.Config, dryRun, yes bool, format output.Format) error {
	keeper, err := retention.New(pool, cfg)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	state, err := retention.Look(ctx, pool, cfg.Schema, cfg.Keep)
	if err != nil {
		return err
	}
	counts, err := retention.CountSlots(ctx, pool, cfg.Schema)
	if err != nil {
		return err
	}
	report := newPruneReport(state, counts, databaseName(pool.Config()), cfg.Schema)
	if dryRun {
		if err := report.write(cmd.OutOrStdout(), format); err != nil {
			return err
		}
		return report.answer()
	}
	if format == output.Text {
		if err := report.write(cmd.OutOrStdout(), format); err != nil {
			return err
		}
	}
	if err := confirm(cmd, report.question(), yes, format, "--dry-run to see the plan only"); err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		done, err := keeper.Pass(ctx)
		if err != nil {
			return err
		}
		report.apply(done)
		if !report.busy() || attempt == pruneAttempts {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(prunePause):
		}
	}
	if err := report.writeApplied(cmd.OutOrStdout(), format); err != nil {
		return err
	}
	return report.answer()
}

// pruneError keeps the hints of the package, but where another role than the relay's is meant.
func pruneError(err error) error {
	var refused *retention.ConfigError
	if errors.As(err, &refused) {
		return &exit.Error{Code: exit.Usage, Kind: kindConfiguration, Err: err, Hint: "relay config env"}
	}
	e := classifyDatabase(err)
	if err == nil || e == nil {
		return err
	}
	var server *pgconn.PgError
	if errors.As(err, &server) && server.Code == "42501" {
		e.Hint = "run it as a login of the role maintainer, which outbox-gen roles makes; the plan alone also as operator or auditor"
	} else if hint := outbox.Hint(err); hint != "" {
		e.Hint = hint
	}
	return e
}

// A vacuum, or another short statement, may have the lock that a slot needs.
const (
	pruneAttempts = 20
	prunePause    = 250 * time.Millisecond
)

// busy reports whether the lock of a slot was not to be had.
func (r *pruneReport) busy() bool {
	return slices.ContainsFunc(r.Refused, func(b pruneBlock) bool { return b.Because == string(retention.Busy) })
}

// answer is the exit status of what was found or done.
func (r *pruneReport) answer() error {
	switch {
	case len(r.Refused) == 0 && !r.Taken:
		return nil
	case len(r.Emptied) > 0:
		return exit.Answer(exit.Partial)
	case r.Taken || r.busy():
		return exit.Answer(exit.Unavailable)
	default:
		return exit.Answer(exit.No)
	}
}

// question asks for what the plan says.
func (r *pruneReport) question() string {
	if n := r.ready(); n > 0 {
		return fmt.Sprintf("Destroy %s in %s of %s, and remove old records?", output.Count(r.Events, "event"), output.Count(int64(n), "slot"), r.Database)
	}
	return fmt.Sprintf("Remove old records of %s?", r.Database)
}
