package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/cmd/outbox-gen/internal/report"
	"github.com/holdfast-dev/holdfast/gen"
)

const defaultDiffLines = 40

func checkCommand(p Process) *cobra.Command {
	c := verb(&cobra.Command{
		Use:   "check",
		Short: "Find every byte of the migrations that is not as it was written",
		Long: effects("nothing.", "connects to a database; outbox-gen verify does that.") +
			"\n\nExit status: 0 there is no drift, 1 there is, 2 the question could not be answered. Each drift comes\n" +
			"with the command that mends it. As a gate for CI: outbox-gen hook.",
		Example: "  outbox-gen check\n  outbox-gen check --format sarif",
	})
	path := configFlag(c, p)
	format := output.NewFlag(output.Text, output.JSON, output.SARIF, output.GitHub)
	c.Flags().VarP(format, "output", "o", "Format of the output")
	c.Flags().Var(format, "format", "The same as -o")
	lines := c.Flags().Int("diff-lines", defaultDiffLines, "Lines of a difference that text shows, 0 for all")
	inGroup(c, outputFlags, "output", "format", "diff-lines")
	complete(c, "output", format.Allowed())
	complete(c, "format", format.Allowed())
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if *lines < 0 {
			return exit.Errorf(exit.Usage, "--diff-lines can't be below zero")
		}
		file, err := load(p, path())
		if err != nil {
			return err
		}
		found, err := gen.Check(file.Config)
		if err != nil {
			return file.Explain(err)
		}
		drift := report.Drift{Services: len(file.Config.Services), Found: found, Place: place(file), Lines: *lines, Version: readBuild().Version}
		if err := writeDrift(cmd, p, format.Format(), drift); err != nil {
			return err
		}
		if len(found) > 0 {
			return exit.Answer(exit.No)
		}
		return nil
	}
	return c
}

func writeDrift(cmd *cobra.Command, p Process, format output.Format, drift report.Drift) error {
	w := cmd.OutOrStdout()
	switch format {
	case output.JSON:
		return drift.JSON(w)
	case output.SARIF:
		return drift.SARIF(w)
	case output.GitHub:
		if err := drift.GitHub(w); err != nil {
			return err
		}
	default:
		if err := drift.Text(w, output.NewPainter(w, p.Getenv)); err != nil {
			return err
		}
	}
	fmt.Fprintln(cmd.ErrOrStderr(), drift.Summary())
	return nil
}
