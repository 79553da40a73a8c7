package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
)

// consumerBulk is a command that decides about things in the database of consumers, by ids or by flags.
type consumerBulk struct {
	done, noun string
	how        string // flags that choose
	chosen     func() bool
	judge      func() error // of the flags, before anything is connected to
	choose     func(ctx context.Context, d *consumerDatabase, b *bulk) error
	act        func(ctx context.Context, d *consumerDatabase, ids []int64, who *decision) ([]int64, error)
}

func consumerBulkCommand(c *cobra.Command, p Process, v *consumerBulk) *cobra.Command {
	verbWithArgs(c, 0, most)
	who := decisionFlags(c, keptByConsumers, true)
	open := consumerFlags(c, p)
	format := outputFlag(c, output.Text, output.JSON, output.JSONL, output.Name)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		ids, err := idsOf(cmd, args)
		if err != nil {
			return err
		}
		if err := v.judge(); err != nil {
			return err
		}
		if err := checkBulk(cmd, p, who, len(ids), v.chosen(), v.how); err != nil {
			return err
		}
		d, err := open(cmd.Context())
		if err != nil {
			return err
		}
		defer d.pool.Close()
		b := &bulk{verb: cmd.Name(), done: v.done, noun: v.noun, database: d.database, asked: ids, byFlags: len(ids) == 0, tells: true}
		b.words = consumerBulkWords(b)
		b.act = func(ctx context.Context, ids []int64) ([]int64, error) { return v.act(ctx, d, ids, who) }
		if err := v.choose(cmd.Context(), d, b); err != nil {
			return err
		}
		b.missing = without(ids, b.ids)
		return b.carryOut(cmd, who, format.Format())
	}
	return c
}

func consumerBulkWords(b *bulk) bulkWords {
	return bulkWords{
		absent: func(missing string) error {
			return exit.Errorf(exit.NotFound, "there is no %s %s to %s in %s", b.noun, missing, b.verb, b.database).
				WithHint("another state than this needs, or gone: list and show say so")
		},
		look:        "see show first",
		missingHint: "another state than this needs, or gone: show says who moved it",
		fewer:       "the others were moved by somebody meanwhile", fewerHint: "show says who moved them",
	}
}

// consumerShowByID shows the one thing of the database of consumers that has an id.
func consumerShowByID(c *cobra.Command, p Process, show func(cmd *cobra.Command, d *consumerDatabase, id int64, format output.Format) error) *cobra.Command {
	verbWithArgs(c, 1, 1)
	open := consumerFlags(c, p)
	format := outputFlag(c, output.Text, output.JSON)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		ids, err := idsOf(cmd, args)
		if err != nil {
			return err
		}
		d, err := open(cmd.Context())
		if err != nil {
			return err
		}
		defer d.pool.Close()
		return show(cmd, d, ids[0], format.Format())
	}
	return c
}

// writeShown writes what a thing is, a line each, and a table below.
func writeShown(cmd *cobra.Command, rows [][2]string, below *output.Table) error {
	table := output.Table{}
	for _, row := range rows {
		table.Add(row[0], row[1])
	}
	if err := table.Write(cmd.OutOrStdout()); err != nil {
		return err
	}
	return writeBelow(cmd.OutOrStdout(), below)
}
