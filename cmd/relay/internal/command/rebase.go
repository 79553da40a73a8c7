package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/cmd/relay/internal/settings"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/relay/rebase"
)

func rebaseCommand(p Process) *cobra.Command {
	c := verb(&cobra.Command{
		Use:   "rebase",
		Short: "Make a database drainable that came from another cluster",
		Long: effects("positions of events and cursors of every relay group, once the database was dumped and restored,\n"+
			"         copied or upgraded: what was drained stays so, and the rest will be drained. In one transaction.",
			"deletes an event, touches one that is held, or talks to the broker.") +
			"\n\nIt runs as the owner of the schema: a relay's own role may not change events. Services that stage\n" +
			"events wait for it. Stop the old relays first. Exit status 0 done or nothing to do, 1 refused: a\n" +
			"relay has a live lease. Without a terminal, and with -o json, it needs --yes.",
		Example: "  relay rebase --dry-run\n  relay rebase --yes",
	})
	load := settingFlags(c, p, settings.Database)
	format := outputFlag(c, output.Text, output.JSON)
	dryRun := c.Flags().Bool("dry-run", false, "Show the plan and change nothing")
	yes := c.Flags().Bool("yes", false, "Do not ask")
	lock := c.Flags().Duration("lock-timeout", 5*time.Second, "How long to wait for transactions that stage events")
	inGroup(c, commonFlags, "dry-run", "yes", "lock-timeout")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		pool, loaded, err := openLoaded(cmd.Context(), load)
		if err != nil {
			return err
		}
		defer pool.Close()
		cfg := rebase.Config{Schema: loaded.Schema, LockTimeout: *lock}
		return rebaseError(runRebase(cmd, pool, cfg, *dryRun, *yes, format.Format()))
	}
	return c
}

func runRebase(cmd *cobra.Command, pool *pgxpool.Pool, cfg rebase.Config, dryRun, yes bool, format output.Format) error {
	plan, err := rebase.MakePlan(cmd.Context(), pool, cfg)
	if err != nil {
		return err
	}
	report := newRebaseReport(plan, databaseName(pool.Config()))
	if dryRun || !plan.Needed {
		return report.write(cmd.OutOrStdout(), format)
	}
	if format == output.Text {
		if err := report.write(cmd.OutOrStdout(), format); err != nil {
			return err
		}
	}
	if len(plan.Live) > 0 {
		return &rebase.LiveLeaseError{Leases: plan.Live}
	}
	question := fmt.Sprintf("Rebase %s?", report.Database)
	if err := confirm(cmd, question, yes, format, "--dry-run to see the plan only"); err != nil {
		return err
	}
	// Once it was begun, an interrupt would only leave unknown whether it was done.
	done, err := rebase.Apply(context.WithoutCancel(cmd.Context()), pool, cfg)
	if errors.Is(err, rebase.ErrNothingToDo) { // somebody else was faster
		report.Needed = false
		return report.write(cmd.OutOrStdout(), format)
	}
	if err != nil {
		return err
	}
	report = newRebaseReport(done, report.Database)
	report.Applied = true
	return report.writeApplied(cmd.OutOrStdout(), format)
}

// rebaseError keeps the hints of the package: they know that it is not the relay's role that runs.
func rebaseError(err error) error {
	var live *rebase.LiveLeaseError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &live):
		return &exit.Error{Code: exit.No, Kind: "refused", Err: err, Hint: live.Hint()}
	}
	if e := classifyDatabase(err); e != nil {
		if hint := outbox.Hint(err); hint != "" {
			e.Hint = hint
		}
		return e
	}
	return err
}
