package command

import (
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
)

func laneListCommand(p Process) *cobra.Command {
	c := verb(&cobra.Command{
		Use:   "list",
		Short: "List the lanes: who owns them, and what waits in them",
		Long: effects("nothing.", "counts beyond 100,000 events of a lane, so that looking at a large backlog stays cheap.") +
			"\n\nBACKLOG is committed and not yet in the stream, RETRIES was refused and is to be tried again, PARKED waits\n" +
			"behind an event of its key that was refused. Exit status 3 if there is no such relay group.",
		Example: "  relay lane list\n  relay lane list -o json",
	})
	open := laneFlags(c, p)
	format := outputFlag(c, output.Text, output.JSON, output.JSONL, output.Name)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		l, err := open(cmd.Context())
		if err != nil {
			return err
		}
		defer l.pool.Close()
		all, err := l.read(cmd.Context())
		if err != nil {
			return err
		}
		return writeLanes(cmd.OutOrStdout(), format.Format(), all)
	}
	return c
}

func writeLanes(w io.Writer, format output.Format, all []laneReport) error {
	switch format {
	case output.JSON:
		return output.WriteJSON(w, format, map[string]any{"lanes": all})
	case output.JSONL:
		return writeLines(w, all)
	case output.Name:
		return writeNames(w, all, func(l laneReport) string { return strconv.Itoa(int(l.Lane)) })
	}
	table := output.Table{
		Heads: []string{"LANE", "BACKLOG", "OLDEST", "RETRIES", "PARKED", "LEASE", "LEASE UNTIL", "OWNER", "CURSOR"},
		Right: []bool{true, true, true, true, true},
	}
	for _, l := range all {
		table.Add(strconv.Itoa(int(l.Lane)), atLeast(l.Backlog.Events), l.oldest(), output.Number(l.Retries.Scheduled),
			output.Number(l.Retries.Parked), l.Lease, plain(l.LeaseUntil), plain(l.Owner), l.position())
	}
	return table.Write(w)
}
