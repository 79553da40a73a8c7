package command

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

func listCommand(p Process) *cobra.Command {
	c := verb(&cobra.Command{
		Use:   "list",
		Short: "List the components, their versions and checksums",
		Long: effects("nothing.", "looks at the files of a service; outbox-gen check does that.") +
			"\n\nA checksum is that of the SQL rendered with the default parameters, or with those of the service that\n" +
			"--service names, in the order in which they install.",
		Example: "  outbox-gen list\n  outbox-gen list --service orders",
	})
	path := configFlag(c, p)
	name := serviceFlag(c)
	format := outputFlag(c, output.Text, output.JSON, output.Name)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		plan, err := rendered(p, path, *name)
		if err != nil {
			return err
		}
		return writeList(cmd, format.Format(), plan)
	}
	return c
}

func serviceFlag(c *cobra.Command) *string {
	name := c.Flags().StringP("service", "s", "", "Service of the configuration, whose tool, components and parameters count")
	inGroup(c, commonFlags, "service")
	return name
}

// rendered is what a service has, or without one everything there is.
func rendered(p Process, path func() string, name string) ([]canonical.Rendered, error) {
	if name == "" {
		return canonical.Plan(canonical.Params{}, canonical.Components()...)
	}
	file, err := load(p, path())
	if err != nil {
		return nil, err
	}
	s, err := service(file, name)
	if err != nil {
		return nil, err
	}
	return gen.Expected(file.Config, s)
}

func writeList(cmd *cobra.Command, format output.Format, plan []canonical.Rendered) error {
	type version struct {
		Component string   `json:"component"`
		Version   int      `json:"version"`
		Name      string   `json:"name"`
		Needs     []string `json:"needs"`
		Checksum  string   `json:"checksum"`
	}
	all := make([]version, 0, len(plan))
	table := output.Table{Heads: []string{"COMPONENT", "VERSION", "NAME", "NEEDS", "CHECKSUM"}}
	for _, r := range plan {
		v := version{string(r.Component), r.Version, r.Name, []string{}, r.Checksum}
		for _, need := range r.Component.Needs() {
			v.Needs = append(v.Needs, string(need))
		}
		all = append(all, v)
		table.Add(v.Component, strconv.Itoa(v.Version), v.Name, strings.Join(v.Needs, ","), v.Checksum[:min(12, len(v.Checksum))])
	}
	w := cmd.OutOrStdout()
	switch format {
	case output.JSON:
		return output.WriteJSON(w, output.JSON, map[string]any{"versions": all})
	case output.Name:
		for _, v := range all {
			if _, err := fmt.Fprintf(w, "%s %d\n", v.Component, v.Version); err != nil {
				return err
			}
		}
		return nil
	default:
		return table.Write(w)
	}
}
