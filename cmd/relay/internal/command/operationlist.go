package command

import (
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/hold/saga"
)

func operationListCommand(p Process) *cobra.Command {
	c := verb(&cobra.Command{
		Use:     "list",
		Short:   "List operations, those whose state is oldest first",
		Long:    effects("nothing.", "shows what a request said or was answered."),
		Example: "  relay operation list --state stuck\n  relay operation list --unreleased",
	})
	var filter saga.Filter
	states := c.Flags().StringSlice("state", nil, "Only those in this state, may be repeated: "+strings.Join(wordsOf(saga.States()), ", "))
	c.Flags().BoolVar(&filter.Unreleased, "unreleased", false, "Only those that are completed, and not released at every participant")
	c.Flags().StringVar(&filter.Kind, "kind", "", "Only operations of this kind")
	c.Flags().IntVar(&filter.Limit, "limit", 1000, "How many at most")
	inGroup(c, commonFlags, "state", "unreleased", "kind", "limit")
	complete(c, "state", wordsOf(saga.States()))
	open := operationFlags(c, p)
	format := outputFlag(c, output.Text, output.JSON, output.JSONL, output.Name)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := checkLimit(filter.Limit); err != nil {
			return err
		}
		if err := checkWords("state", wordsOf(saga.States()), *states...); err != nil {
			return err
		}
		for _, state := range *states {
			filter.States = append(filter.States, saga.State(state))
		}
		o, err := open(cmd.Context())
		if err != nil {
			return err
		}
		defer o.pool.Close()
		found, err := o.List(cmd.Context(), o.pool, filter)
		if err != nil {
			return err
		}
		return writeOperations(cmd.OutOrStdout(), format.Format(), found, filter.Limit)
	}
	return c
}

func writeOperations(w io.Writer, format output.Format, found []saga.Operation, limit int) error {
	e := excerpt[operation]{member: "operations", noun: "operation", none: "No operations.", limit: limit, all: make([]operation, len(found)),
		name: func(o operation) string { return o.ID }}
	e.table = &output.Table{Heads: []string{"OPERATION", "GENERATION", "KIND", "STATE", "SINCE", "ATTEMPTS", "RELEASED"}, Right: []bool{false, true, false, false, false, true}}
	for i, each := range found {
		o := operationOf(each)
		e.all[i] = o
		e.table.Add(o.ID, strconv.Itoa(o.Generation), plain(o.Kind), o.State, o.UpdatedAt, strconv.Itoa(o.Attempts), yesNo(o.EventsReleased))
	}
	return e.write(w, format)
}
