package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/cmd/outbox-gen/internal/config"
	"github.com/holdfast-dev/holdfast/cmd/outbox-gen/internal/report"
	"github.com/holdfast-dev/holdfast/gen"
)

// load reads the configuration, and gives it the clock.
func load(p Process, path string) (*config.File, error) {
	file, err := config.Load(path)
	if err != nil {
		return nil, err
	}
	file.Config.Now, err = p.clock()
	return file, err
}

// place is how the paths of a configuration look from here.
func place(file *config.File) report.Place { return report.NewPlace(file.Path, config.FileName) }

// service finds a service of the configuration.
func service(file *config.File, name string) (gen.Service, error) {
	s, ok := file.Service(name)
	if !ok {
		return gen.Service{}, unknown(exit.NotFound, "service", name, file.ServiceNames(), "")
	}
	return s, nil
}

// writing runs a command that writes files: plan for a dry run, else write.
func writing(cmd *cobra.Command, p Process, path string, dry bool, format *output.Flag,
	plan func(gen.Config) (gen.Report, error), write func(gen.Config) (gen.Report, error)) error {
	file, err := load(p, path)
	if err != nil {
		return err
	}
	do := write
	if dry {
		do = plan
	}
	done, err := do(file.Config)
	if err != nil {
		return file.Explain(err)
	}
	changes := report.Changes{Report: done, Dry: dry, Place: place(file)}
	switch w := cmd.OutOrStdout(); format.Format() {
	case output.JSON:
		return changes.JSON(w)
	case output.Name:
		return changes.Names(w)
	default:
		if err := changes.Text(w, output.NewPainter(w, p.Getenv)); err != nil {
			return err
		}
		fmt.Fprintln(cmd.ErrOrStderr(), changes.Summary())
		return nil
	}
}
