package command

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

func showCommand(p Process) *cobra.Command {
	c := verb(&cobra.Command{
		Use:   "show COMPONENT [VERSION]",
		Short: "Print the SQL of a component",
		Long: effects("nothing.", "reads the files of a service.") +
			"\n\nWith --service it is the file that outbox-gen write makes for it, in the form of its tool; otherwise\n" +
			"the SQL with the default parameters. The newest version, if none is named.",
		Example:   "  outbox-gen show relay\n  outbox-gen show outbox 1 --service orders",
		Args:      arguments(1, 2),
		ValidArgs: componentNames(),
	})
	path := configFlag(c, p)
	name := serviceFlag(c)
	down := c.Flags().Bool("down", false, "The file for the way back, for a tool that has one")
	inGroup(c, commonFlags, "down")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		component, version, err := parseShow(args)
		if err != nil {
			return err
		}
		if *down && *name == "" {
			return exit.Errorf(exit.Usage, "--down needs --service").WithHint("only the files of a tool have a way back")
		}
		var text []byte
		if *name == "" {
			text, err = canonicalText(component, version)
		} else {
			text, err = serviceText(p, path(), *name, component, version, *down)
		}
		if err != nil {
			return err
		}
		_, err = cmd.OutOrStdout().Write(text)
		return err
	}
	return c
}

func componentNames() []string {
	var names []string
	for _, c := range canonical.Components() {
		names = append(names, string(c))
	}
	return names
}

func parseShow(args []string) (canonical.Component, int, error) {
	component, err := canonical.ParseComponent(args[0])
	if err != nil {
		return "", 0, unknown(exit.NotFound, "component", args[0], componentNames(), "")
	}
	if len(args) == 1 {
		return component, 0, nil
	}
	version, err := strconv.Atoi(args[1])
	if err != nil || version < 1 {
		return "", 0, exit.Errorf(exit.Usage, "version %q is not a number above zero", args[1]).WithHint("outbox-gen list")
	}
	return component, version, nil
}

func canonicalText(component canonical.Component, version int) ([]byte, error) {
	files, err := canonical.Files(component)
	if err != nil {
		return nil, err
	}
	if version == 0 {
		version = len(files)
	}
	if version > len(files) {
		return nil, noVersion(component, version, len(files))
	}
	r, err := files[version-1].Render(canonical.Params{})
	return []byte(r.SQL), err
}

func noVersion(component canonical.Component, version, newest int) error {
	return exit.Errorf(exit.NotFound, "component %s has no version %d", component, version).WithHint("the newest is %d", newest)
}

func serviceText(p Process, path, name string, component canonical.Component, version int, down bool) ([]byte, error) {
	file, err := load(p, path)
	if err != nil {
		return nil, err
	}
	s, err := service(file, name)
	if err != nil {
		return nil, err
	}
	plan, err := gen.Expected(file.Config, s)
	if err != nil {
		return nil, err
	}
	newest := 0
	for _, r := range plan {
		if r.Component == component {
			newest = r.Version
		}
	}
	if newest == 0 {
		return nil, exit.Errorf(exit.NotFound, "service %s does not have component %s", name, component).
			WithHint("add it to the components of the service in %s", path)
	}
	if version > newest {
		return nil, noVersion(component, version, newest)
	}
	text, err := gen.Text(file.Config, name, component, version, down)
	if err != nil {
		return nil, exit.Errorf(exit.NotFound, "%w", err)
	}
	return text, nil
}
