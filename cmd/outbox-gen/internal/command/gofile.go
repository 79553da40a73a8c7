package command

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/gen"
)

func goCommand(p Process) *cobra.Command {
	c := verb(&cobra.Command{
		Use:   "go",
		Short: "Write the constants of the schema for Go code",
		Long: effects("writes the file that go names in the configuration, for each service that has it.",
			"replaces a file that it did not write.") +
			"\n\nThe file does not compile with a version of package outbox that works with other versions of the\n" +
			"components than the migrations of the service make.",
		Example: "  outbox-gen go --dry-run\n  outbox-gen go",
	})
	path, dry := configFlag(c, p), dryFlag(c)
	format := outputFlag(c, output.Text, output.JSON, output.Name)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		write := func(cfg gen.Config) (gen.Report, error) {
			if err := hasConstants(cfg); err != nil {
				return gen.Report{}, err
			}
			return gen.WriteConstants(cmd.Context(), cfg)
		}
		plan := func(cfg gen.Config) (gen.Report, error) {
			if err := hasConstants(cfg); err != nil {
				return gen.Report{}, err
			}
			return gen.PlanConstants(cfg)
		}
		return writing(cmd, p, path(), *dry, format, plan, write)
	}
	return c
}

func hasConstants(cfg gen.Config) error {
	if slices.ContainsFunc(cfg.Services, func(s gen.Service) bool { return s.Constants != "" }) {
		return nil
	}
	return exit.Errorf(exit.Usage, "no service has a file for its constants").
		WithHint("name one in the configuration, such as go: services/orders/internal/outboxschema/schema_gen.go")
}
