package command

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/consumers/check"
)

func consumerCheckCommand(p Process) *cobra.Command {
	c := verb(&cobra.Command{
		Use:   "check",
		Short: "Check what must always be true of facts, effects, dead letters and quarantine",
		Long: effects("nothing.", "repairs anything, or shows an amount.") +
			"\n\nEach invariant is a query over one snapshot. Without --effects only those are checked that need no table of\n" +
			"effects. Exit status 0 if all hold, 1 if one is broken or could not be checked: a gate takes both for no.",
		Example: "  relay consumer check --list\n  relay consumer check --effects effects.yaml",
	})
	file := effectsFlag(c)
	names := c.Flags().StringArray("only", nil, "Only this invariant, may be repeated")
	grace := c.Flags().StringArray("grace", nil, "How old something must be to count, as NAME=1h, may be repeated")
	list := c.Flags().Bool("list", false, "List the invariants, and check nothing")
	examples := c.Flags().Int("examples", 5, "How many examples of each finding to show, 0 to 1000")
	limit := c.Flags().Duration("query-timeout", time.Minute, "How long each query may take")
	inGroup(c, commonFlags, "only", "grace", "list", "examples", "query-timeout")
	open := consumerFlags(c, p)
	format := outputFlag(c, output.Text, output.JSON, output.JSONL, output.Name)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if *list {
			return writeCatalog(cmd.OutOrStdout(), format.Format())
		}
		cfg := check.Config{Names: *names, Examples: *examples, Timeout: *limit, Grace: map[string]time.Duration{}}
		if *examples < 0 || *examples > 1000 {
			return exit.Errorf(exit.Usage, "--examples %d: must be 0 to 1000", *examples)
		}
		if *examples == 0 {
			cfg.Examples = -1
		}
		for _, pair := range *grace {
			name, text, _ := strings.Cut(pair, "=")
			d, err := time.ParseDuration(text)
			if err != nil || d < 0 {
				return exit.Errorf(exit.Usage, "--grace %q: must be NAME=DURATION, such as dead-letters-old=4h", pair)
			}
			cfg.Grace[name] = d
		}
		if *file != "" {
			var err error
			if cfg.Tables, err = readEffects(cmd, *file); err != nil {
				return err
			}
		}
		d, err := open(cmd.Context())
		if err != nil {
			return err
		}
		defer d.pool.Close()
		cfg.Schema = d.schema
		found, err := check.Run(cmd.Context(), d.pool, cfg)
		if err != nil {
			return err
		}
		report := invariantsReportOf(found, d.database)
		if err := report.write(cmd.OutOrStdout(), format.Format()); err != nil {
			return err
		}
		if !report.Sound {
			return exit.Answer(exit.No)
		}
		return nil
	}
	return c
}
