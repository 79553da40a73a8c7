package command

import (
	"bufio"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/cmd/relay/internal/audit"
)

// auditLine is a decision as JSON has it: a contract, only ever added to.
type auditLine struct {
	Time    string `json:"time"`
	What    string `json:"what"`
	Subject string `json:"subject"`
	Actor   string `json:"actor"`
	Reason  string `json:"reason"`
}

// auditLineOf keeps the microseconds, which tell the order.
func auditLineOf(d audit.Decision) auditLine {
	return auditLine{Time: d.At.UTC().Format("2006-01-02T15:04:05.000000Z07:00"), What: d.What, Subject: d.Subject, Actor: d.Actor, Reason: d.Reason}
}

func auditListCommand(p Process) *cobra.Command {
	c := verb(&cobra.Command{
		Use:     "list",
		Short:   "List what was decided, oldest first",
		Long:    effects("nothing.", "shows a payload."),
		Example: "  relay audit list --since 24h\n  relay audit list --newest --limit 20 --what hold,dead-letter.discard\n  relay audit list --actor alice -o json",
	})
	limit := c.Flags().Int("limit", 1000, "How many at most")
	inGroup(c, commonFlags, "limit")
	judge, read := auditFlags(c), auditLog(c, p)
	format := outputFlag(c, output.Text, output.JSON, output.JSONL)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if *limit < 1 || *limit > most {
			return exit.Errorf(exit.Usage, "--limit %d: must be 1 to %d", *limit, most).WithHint("relay audit export has no limit")
		}
		filter, err := judge()
		if err != nil {
			return err
		}
		filter.Limit = *limit
		found := []auditLine{}
		missing, err := read(cmd.Context(), filter, func(d audit.Decision) error {
			found = append(found, auditLineOf(d))
			return nil
		})
		if err != nil {
			return err
		}
		return writeDecisions(cmd.OutOrStdout(), format.Format(), found, missing, *limit)
	}
	return c
}

func writeDecisions(w io.Writer, format output.Format, found []auditLine, missing []string, limit int) error {
	switch format {
	case output.JSON:
		return output.WriteJSON(w, format, map[string]any{"decisions": found, "not_installed": missing})
	case output.JSONL:
		return writeLines(w, found)
	}
	table := &output.Table{Heads: []string{"TIME", "WHAT", "SUBJECT", "ACTOR", "REASON"}}
	for _, d := range found {
		table.Add(d.Time, d.What, plain(d.Subject), plain(d.Actor), plain(d.Reason))
	}
	return writeExcerpt(w, len(found), limit, "decision", "No decisions.", table)
}

func auditExportCommand(p Process) *cobra.Command {
	c := verb(&cobra.Command{
		Use:   "export",
		Short: "Write all that was decided, one JSON document a line",
		Long: effects("nothing.", "shows a payload.") +
			"\n\nThere is no limit, and memory does not grow with the number. The lines are those of relay audit list -o jsonl.\n" +
			"Export before retention removes what is old: RELAY_RECORD_RETENTION.",
		Example: "  relay audit export --until 2026-01-01T00:00:00Z > audit.jsonl",
	})
	judge, read := auditFlags(c), auditLog(c, p)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		filter, err := judge()
		if err != nil {
			return err
		}
		out := bufio.NewWriter(cmd.OutOrStdout())
		_, err = read(cmd.Context(), filter, func(d audit.Decision) error { return output.WriteJSON(out, output.JSONL, auditLineOf(d)) })
		return errors.Join(err, out.Flush())
	}
	return c
}
