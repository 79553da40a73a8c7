package command

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
)

// actChunk is how many things one transaction moves.
const actChunk = 1000

// bulkHelp is what every command says of itself that decides about many things.
const bulkHelp = "\n\nWithout ids, the flags choose, and nothing is done without --apply. It shows what it would do, then asks;\n" +
	"without a terminal, and with an output for programs, it needs --yes. --reason is kept and needed. Exit\n" +
	"status 0 done, 1 not confirmed, 3 no such id, 6 some were not there any more."

// bulk is a decision about things with ids: what was chosen, how to do it, and what is said of it.
type bulk struct {
	verb, done, noun, database string
	of                         string // which of those in the database, such as " of group orders"; "" for all
	byFlags                    bool
	asked                      []int64  // ids that were named
	missing                    []string // named, and not there
	matching                   int64    // also beyond the limit
	ids                        []int64  // chosen
	table                      *output.Table
	act                        func(ctx context.Context, ids []int64) ([]int64, error)
	tells                      bool                    // on stderr how far it is
	data                       func(r *bulkReport) any // what JSON has; nil for the report itself
	words                      bulkWords
}

// bulkWords are what a bulk says that knows what it is about.
type bulkWords struct {
	absent           func(missing string) error // of what was named nothing is there
	look             string                     // what to do before a decision
	missingHint      string
	fewer, fewerHint string // some were not there any more when it came to them
}

// bulkReport is what a bulk would do, and then what it did: a contract, only ever added to.
type bulkReport struct {
	Action   string   `json:"action"`
	Database string   `json:"database"`
	Matching int64    `json:"matching"`
	Planned  int      `json:"planned"`
	Missing  []string `json:"missing"`
	Applied  bool     `json:"applied"`
	IDs      []string `json:"ids"` // planned, or once applied those that were moved
}

// idsOf reads ids, which are numbers.
func idsOf(cmd *cobra.Command, args []string) ([]int64, error) {
	ids := make([]int64, len(args))
	for i, arg := range args {
		id, err := strconv.ParseInt(arg, 10, 64)
		if err != nil || id < 1 {
			return nil, exit.Errorf(exit.Usage, "%s: %q is no id: a number", cmd.CommandPath(), arg)
		}
		ids[i] = id
	}
	return ids, nil
}

// checkBulk refuses an order that cannot be meant, before anything is connected to.
func checkBulk(cmd *cobra.Command, p Process, who *decision, ids int, chosen bool, how string) error {
	switch {
	case ids > 0 && chosen:
		return exit.Errorf(exit.Usage, "%s takes ids or flags that choose, and not both", cmd.CommandPath()).WithHint("leave one of them out")
	case ids == 0 && !chosen:
		return exit.Errorf(exit.Usage, "%s: nothing is chosen", cmd.CommandPath()).WithHint("name ids, or choose by %s", how)
	case ids == 0 && !who.apply: // a dry run
		return nil
	}
	return who.check(cmd, p)
}

// carryOut shows the plan, asks, does it and says what was done.
func (b *bulk) carryOut(cmd *cobra.Command, who *decision, format output.Format) error {
	report := &bulkReport{Action: b.verb, Database: b.database, Matching: b.matching, Planned: len(b.ids), Missing: append([]string{}, b.missing...), IDs: texts(b.ids)}
	if len(b.ids) == 0 && !b.byFlags {
		return b.words.absent(strings.Join(b.missing, ", "))
	}
	if len(b.ids) == 0 || b.byFlags && !who.apply {
		return b.write(cmd, report, format)
	}
	if format == output.Text {
		if err := b.write(cmd, report, format); err != nil {
			return err
		}
	}
	look := b.words.look
	if b.byFlags {
		look = "leave --apply out to see the plan only"
	}
	question := fmt.Sprintf("%s %s in %s?", capital(b.verb), output.Count(int64(len(b.ids)), b.noun), b.database)
	if err := confirm(cmd, question, who.yes, format, look); err != nil {
		return err
	}
	done, err := b.inChunks(cmd)
	report.Applied, report.IDs = true, texts(done)
	if writeErr := b.writeDone(cmd, report, format); writeErr != nil {
		return writeErr
	}
	return b.outcome(report, err)
}

// inChunks moves chunk by chunk, each in a transaction of its own, and returns what was moved.
func (b *bulk) inChunks(cmd *cobra.Command) (done []int64, err error) {
	progress := newProgress(cmd.ErrOrStderr())
	defer progress.end()
	for chunk := range slices.Chunk(b.ids, actChunk) {
		moved, err := b.act(cmd.Context(), chunk)
		done = append(done, moved...)
		if err != nil {
			return done, err
		}
		if b.tells {
			progress.say("%s of %s", output.Number(int64(len(done))), output.Count(int64(len(b.ids)), b.noun))
		}
	}
	return done, nil
}

// without returns those of the ids that were named which are not among those that were chosen.
func without(named, chosen []int64) []string {
	var missing []string
	for _, id := range named {
		if !slices.Contains(chosen, id) {
			missing = append(missing, strconv.FormatInt(id, 10))
		}
	}
	return missing
}

func texts(ids []int64) []string {
	all := make([]string, len(ids))
	for i, id := range ids {
		all[i] = strconv.FormatInt(id, 10)
	}
	return all
}

func (b *bulk) write(cmd *cobra.Command, r *bulkReport, format output.Format) error {
	w := cmd.OutOrStdout()
	if format != output.Text {
		return b.writeData(cmd, r, format)
	}
	if len(b.ids) == 0 {
		_, err := fmt.Fprintf(w, "No %s%s in %s is chosen.\n", b.noun, b.of, b.database)
		return err
	}
	count := output.Count(int64(len(b.ids)), b.noun)
	if int64(len(b.ids)) < b.matching {
		count = fmt.Sprintf("%s of %s (--limit)", output.Number(int64(len(b.ids))), output.Count(b.matching, b.noun))
	}
	if _, err := fmt.Fprintf(w, "%s %s%s in %s:\n\n", b.verb, count, b.of, b.database); err != nil {
		return err
	}
	if err := b.table.Write(w); err != nil {
		return err
	}
	if len(r.Missing) > 0 {
		if _, err := fmt.Fprintf(w, "\nNot there: %s\n", strings.Join(r.Missing, ", ")); err != nil {
			return err
		}
	}
	if f := cmd.Flags().Lookup("apply"); b.byFlags && !f.Changed {
		_, err := fmt.Fprintf(w, "\nNothing was changed: add --apply and --reason to %s.\n", b.verb)
		return err
	}
	return nil
}

func (b *bulk) writeDone(cmd *cobra.Command, r *bulkReport, format output.Format) error {
	if format != output.Text {
		return b.writeData(cmd, r, format)
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "\n%s %s.\n", b.done, output.Count(int64(len(r.IDs)), b.noun))
	return err
}

func (b *bulk) writeData(cmd *cobra.Command, r *bulkReport, format output.Format) error {
	if format != output.Name {
		var data any = r
		if b.data != nil {
			data = b.data(r)
		}
		return output.WriteJSON(cmd.OutOrStdout(), format, data)
	}
	return writeNames(cmd.OutOrStdout(), r.IDs, itself)
}

// outcome is how the command ends: with what stopped it, or because not everything was there.
func (b *bulk) outcome(r *bulkReport, err error) error {
	switch {
	case err != nil && len(r.IDs) > 0:
		return &exit.Error{Code: exit.Partial, Err: fmt.Errorf("%s of %s, then: %w", output.Number(int64(len(r.IDs))), output.Count(int64(r.Planned), b.noun), err),
			Hint: "what was done is done; run it again for the rest"}
	case err != nil:
		return err
	case len(r.Missing) > 0:
		return exit.Errorf(exit.Partial, "not there: %s", strings.Join(r.Missing, ", ")).WithHint("%s", b.words.missingHint)
	case len(r.IDs) < r.Planned:
		return exit.Errorf(exit.Partial, "%s of %s: %s", output.Number(int64(len(r.IDs))), output.Count(int64(r.Planned), b.noun), b.words.fewer).
			WithHint("%s", b.words.fewerHint)
	}
	return nil
}
