package command

import (
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/gen"
)

func writeCommand(p Process) *cobra.Command {
	c := verb(&cobra.Command{
		Use:   "write",
		Short: "Add the migrations that services lack",
		Long: effects("adds files to the migrations of services, and renews atlas.sum. All of them, or none.",
			"edits, renames or removes a migration; connects to a database.") +
			"\n\nA number sorts behind every migration that the service has. Where numbers are times, it is the time\n" +
			"of now, or that of SOURCE_DATE_EPOCH.",
		Example: "  outbox-gen write --dry-run\n  outbox-gen write",
	})
	path, dry := configFlag(c, p), dryFlag(c)
	format := outputFlag(c, output.Text, output.JSON, output.Name)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		write := func(cfg gen.Config) (gen.Report, error) { return gen.Write(cmd.Context(), cfg) }
		return writing(cmd, p, path(), *dry, format, gen.Plan, write)
	}
	return c
}
