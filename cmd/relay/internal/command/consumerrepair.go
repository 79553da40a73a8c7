package command

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/consumers/repair"
)

func consumerRepairCommand(p Process) *cobra.Command {
	c := verb(&cobra.Command{
		Use:   "repair",
		Short: "Repair historic duplicates that are identical and untouched, and build the unique index",
		Long: effects("with --apply, in one transaction: duplicates are REMOVED, or with a marker superseded and reversed, and the\n"+
			"         ledger keeps each; unpublished events of removed rows are removed; effects get their facts; the unique\n"+
			"         index is built. With --rehearse it does all of it, measures it, and rolls back.",
			"touches a duplicate that differs, was changed, is named by another row, or whose event may have left: any\n"+
				"         of those stops everything, and changes nothing. It never drops an index that is valid.") +
			"\n\nWithout either it plans, from one snapshot, without a lock. --apply needs a paused group, asks, and without a\n" +
			"terminal, or with -o json, needs --yes. Run it as the owner of the table. Exit status 0 done, or nothing\n" +
			"stands in the way; 1 refused: groups are named by ids.",
		Example: "  relay consumer repair --effects effects.yaml\n" +
			"  relay consumer repair --effects effects.yaml --rehearse --yes\n" +
			"  relay consumer repair --effects effects.yaml --apply --reason 'cut-over, ticket 17' --yes",
	})
	chosen := chosenEffectsFlags(c)
	rehearse := c.Flags().Bool("rehearse", false, "Do everything, measure it, and roll back; writers wait meanwhile")
	lock := c.Flags().Duration("lock-timeout", 0, "How long each lock may be waited for; 10s if not given")
	examples := c.Flags().Int("examples", 20, "How many groups of each shape to name, 1 to 1000")
	inGroup(c, commonFlags, "rehearse", "lock-timeout", "examples")
	who := decisionFlags(c, keptByConsumers, true)
	open := consumerFlags(c, p)
	format := outputFlag(c, output.Text, output.JSON)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case *rehearse && who.apply:
			return exit.Errorf(exit.Usage, "--rehearse rolls back, and --apply commits").WithHint("leave one of them out")
		case *examples < 1 || *examples > 1000:
			return exit.Errorf(exit.Usage, "--examples %d: must be 1 to 1000", *examples)
		}
		if who.apply {
			if err := who.check(cmd, p); err != nil {
				return err
			}
		}
		described, err := chosen.one(cmd)
		if err != nil {
			return err
		}
		d, err := open(cmd.Context())
		if err != nil {
			return err
		}
		defer d.pool.Close()
		cfg := repair.Config{Schema: d.schema, Table: described, LockTimeout: *lock, Examples: *examples, Actor: who.actor, Reason: who.reason}
		r := repairing{cmd: cmd, d: d, cfg: cfg, who: who, rehearse: *rehearse, format: format.Format()}
		return r.run()
	}
	return c
}

// repairing is one call of relay consumer repair.
type repairing struct {
	cmd      *cobra.Command
	d        *consumerDatabase
	cfg      repair.Config
	who      *decision
	rehearse bool
	format   output.Format
}

func (r *repairing) run() error {
	plan, err := r.do(repair.Plan)
	var refused *repair.RefusedError
	if err != nil && !errors.As(err, &refused) {
		return err
	}
	last := refused != nil || !r.who.apply && !r.rehearse
	if last || r.format == output.Text {
		if writeErr := r.write(plan); writeErr != nil {
			return writeErr
		}
	}
	if last {
		return err
	}
	mode, what := repair.Apply, "Repair"
	if r.rehearse {
		mode, what = repair.Rehearse, "Rehearse the repair of"
	}
	question := fmt.Sprintf("%s %s in %s?", what, plan.Table, r.d.database)
	if err := confirm(r.cmd, question, r.who.yes, r.format, "leave --apply and --rehearse out to see the plan only"); err != nil {
		return err
	}
	done, err := r.do(mode)
	if err != nil {
		return err
	}
	return r.write(done)
}

func (r *repairing) do(mode repair.Mode) (*repair.Report, error) {
	cfg := r.cfg
	cfg.Mode = mode
	progress := newProgress(r.cmd.ErrOrStderr())
	defer progress.end()
	cfg.Progress = func(step string) { progress.say("%s: %s", mode, step) }
	return repair.Run(r.cmd.Context(), r.d.pool, cfg)
}
