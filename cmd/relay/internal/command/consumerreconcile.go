package command

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/cmd/relay/internal/settings"
	"github.com/holdfast-dev/holdfast/consumers/reconcile"
)

func consumerReconcileCommand(p Process) *cobra.Command {
	c := verb(&cobra.Command{
		Use:   "reconcile",
		Short: "Compare a provider's export, or the stream, with facts and effects",
		Long: effects("nothing.", "shows an attribute; examples have accounts and keys.") +
			"\n\nThe truth is --export, a CSV or JSON file of the provider (- reads CSV from the standard input), or the events of\n" +
			"--stream that the description says tell the fact. The gate is zero unexplained: what is in flight counts\n" +
			"as missing, so wait for it, or end the window before it. An export that was cut off, is empty, or can be read\n" +
			"in two ways is refused: docs/effects.md says what is accepted. One that was cut between two lines is only noticed\n" +
			"with --records, the number that the provider tells; with it a CSV file may end without a line break, and only a\n" +
			"cut within its very last cell is not noticed: it shows as a mismatch or as missing. A stream in which no event\n" +
			"tells the fact explains nothing and is refused, unless --allow-empty says that there may be none. Exit status 0\n" +
			"if everything is explained, 1 if not.",
		Example: "  relay consumer reconcile --effects effects.yaml --export provider.csv\n" +
			"  relay consumer reconcile --effects effects.yaml --stream ORDERS --since 72h",
	})
	var since, until moment
	chosen := chosenEffectsFlags(c)
	f := c.Flags()
	export := f.String("export", "", "File of the provider: one that ends in .json, .jsonl or .ndjson has objects, any other is CSV")
	records := f.Int("records", 0, "How many records the export has, as the provider says: any other number is refused, and the last line needs no line break")
	allowEmpty := f.Bool("allow-empty", false, "No event of the stream may tell the fact, as on a quiet day")
	f.Var(&since, "since", "Only what was stored, or made, at this time or later: 2h (ago), RFC 3339, or \"2026-11-29 10:00Z\"")
	f.Var(&until, "until", "Only what was stored, or made, before this time")
	examples := f.Int("examples", 10, "How many examples of each class to show, 0 to 1000")
	inGroup(c, commonFlags, "export", "records", "allow-empty", "since", "until", "examples")
	open := consumerFlags(c, p, settings.NATS, settings.Stream)
	format := outputFlag(c, output.Text, output.JSON)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if *examples < 0 || *examples > 1000 {
			return exit.Errorf(exit.Usage, "--examples %d: must be 0 to 1000", *examples)
		}
		counted := cmd.Flags().Changed("records")
		switch {
		case counted && *export == "":
			return exit.Errorf(exit.Usage, "--records is about --export")
		case *allowEmpty && *export != "":
			return exit.Errorf(exit.Usage, "--allow-empty is about --stream").WithHint("an export without records is told by --records 0")
		case counted && *records < 0:
			return exit.Errorf(exit.Usage, "--records %d: must be 0 or more", *records)
		}
		if err := checkWindow(since, until); err != nil {
			return err
		}
		described, err := chosen.one(cmd)
		if err != nil {
			return err
		}
		var needs []settings.Need
		if *export == "" {
			needs = []settings.Need{settings.NeedNATS, settings.NeedStream}
		}
		d, err := open(cmd.Context(), needs...)
		if err != nil {
			return err
		}
		defer d.pool.Close()
		cfg := reconcile.Config{Schema: d.schema, Table: described, Since: since.at, Until: until.at, Examples: *examples}
		if *examples == 0 {
			cfg.Examples = -1
		}
		truth, done, err := d.truth(cmd, *export, &cfg)
		if err != nil {
			return err
		}
		defer done()
		if counted {
			truth = reconcile.Counted(truth, int64(*records))
		}
		if *allowEmpty {
			truth = reconcile.MayBeEmpty(truth)
		}
		progress := newProgress(cmd.ErrOrStderr())
		cfg.Progress = func(records, rows int64) {
			progress.say("read %s and %s", output.Count(records, "record"), output.Count(rows, "row"))
		}
		report, err := reconcile.Run(cmd.Context(), d.pool, truth, cfg)
		progress.end()
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return noStream(d.loaded.Stream)
		}
		if err != nil {
			return err
		}
		out := truthReportOf(report, d.database)
		if err := out.write(cmd.OutOrStdout(), format.Format()); err != nil {
			return err
		}
		if !out.Explained {
			return exit.Answer(exit.No)
		}
		return nil
	}
	return c
}

// truth opens the export or the stream. done closes it.
func (d *consumerDatabase) truth(cmd *cobra.Command, export string, cfg *reconcile.Config) (truth reconcile.Truth, done func(), err error) {
	if export == "" {
		js, err := dialFor(cmd, &d.loaded.Settings)
		if err != nil {
			return nil, nil, err
		}
		return reconcile.Stream(js, d.loaded.Stream, cfg.Table, cfg.Since, cfg.Until), js.Conn().Close, nil
	}
	from, done := cmd.InOrStdin(), func() {}
	if export != "-" {
		file, err := os.Open(export)
		if err != nil {
			return nil, nil, &exit.Error{Code: exit.Usage, Err: fmt.Errorf("open the export: %w", err)}
		}
		from, done = file, func() { _ = file.Close() } // it was only read
	}
	for _, ending := range []string{".json", ".jsonl", ".ndjson"} {
		if strings.HasSuffix(strings.ToLower(export), ending) {
			return reconcile.JSON(export, from, cfg.Table), done, nil
		}
	}
	return reconcile.CSV(export, from, cfg.Table), done, nil
}
