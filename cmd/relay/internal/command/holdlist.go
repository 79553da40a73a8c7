package command

import (
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/hold"
)

func holdListCommand(p Process) *cobra.Command {
	c := verb(&cobra.Command{
		Use:     "list",
		Short:   "List generations of held events, by operation",
		Long:    effects("nothing.", "shows a payload.") + "\n\nIt reads the database: a control surface shows nobody all operations.",
		Example: "  relay hold list --overdue\n  relay hold list --state active -o name",
	})
	states := []string{string(hold.Active), string(hold.Released), string(hold.Cancelled)}
	state := c.Flags().String("state", "", "Only those in this state: active, released, cancelled")
	overdue := c.Flags().Bool("overdue", false, "Only those that are undecided and expired")
	limit := c.Flags().Int("limit", 1000, "How many at most")
	inGroup(c, commonFlags, "state", "overdue", "limit")
	complete(c, "state", states)
	var flags holdFlags
	flags.databaseFlags(c, p)
	format := outputFlag(c, output.Text, output.JSON, output.JSONL, output.Name)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		filter := hold.Filter{State: hold.GenerationState(*state), Overdue: *overdue}
		switch filter.State {
		case "", hold.Active, hold.Released, hold.Cancelled:
		default:
			return exit.Errorf(exit.Usage, "--state: unknown value %q", *state).WithHint("use active, released or cancelled")
		}
		if err := checkLimit(*limit); err != nil {
			return err
		}
		ctx, cancel, h, err := flags.open(cmd)
		if err != nil {
			return err
		}
		defer cancel()
		defer h.close()
		d, ok := h.(*holdDatabase)
		if !ok {
			return exit.Errorf(exit.Usage, "%s needs a database", cmd.CommandPath())
		}
		list, err := d.list(ctx, filter, *limit+1)
		if err != nil {
			return err
		}
		more := len(list) > *limit
		return writeGenerations(cmd.OutOrStdout(), format.Format(), list[:min(len(list), *limit)], more)
	}
	return c
}

func writeGenerations(w io.Writer, format output.Format, list []holdGeneration, more bool) error {
	switch format {
	case output.JSON:
		if list == nil {
			list = []holdGeneration{}
		}
		return output.WriteJSON(w, format, map[string]any{"generations": list, "more": more})
	case output.JSONL:
		return writeLines(w, list)
	case output.Name:
		return writeNames(w, list, func(g holdGeneration) string { return g.name() })
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "No generations.")
		return err
	}
	title := output.Count(int64(len(list)), "generation") + "."
	if more {
		title = "The first " + output.Count(int64(len(list)), "generation") + ": --limit shows more."
	}
	if _, err := fmt.Fprintf(w, "%s\n\n", title); err != nil {
		return err
	}
	table := output.Table{
		Heads: []string{"OPERATION", "GENERATION", "HELD", "RELEASED", "DROPPED", "QUARANTINED", "AGE", "PRINCIPAL", "STATE"},
		Right: []bool{false, true, true, true, true, true, true},
	}
	for _, g := range list {
		table.Add(g.Operation, strconv.Itoa(g.Generation), output.Number(g.Held), output.Number(g.Released), output.Number(g.Dropped),
			output.Number(g.Quarantined), age(g.Age), plain(g.Principal), g.stateOf())
	}
	return table.Write(w)
}
