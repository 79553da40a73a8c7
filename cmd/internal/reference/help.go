package reference

import (
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
)

// Help is the page for a terminal: one line, what the command changes and never does, an example,
// then its commands or its flags in groups.
func (p *Page) Help() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s.\n\n%s\n\nUsage:\n  %s\n\nExample:\n%s\n", p.Short, p.Long, p.Usage, p.Example)
	if len(p.Commands) > 0 {
		table := output.Table{}
		for _, c := range p.Commands {
			table.Add("  "+c.Name(), c.Short)
		}
		out.WriteString("\nCommands:\n")
		_ = table.Write(&out) // to memory
	}
	for _, g := range p.Groups {
		table := output.Table{}
		for _, f := range g.Flags {
			title := "  " + f.Title()
			if f.Short == "" {
				title = "      " + f.Title()
			}
			table.Add(title, f.Text)
		}
		fmt.Fprintf(&out, "\n%s flags:\n", g.Title)
		_ = table.Write(&out) // to memory
		if g.Note != "" {
			fmt.Fprintf(&out, "\n  %s\n", g.Note)
		}
	}
	return out.String()
}
