package reference

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Layout is how a program shows its flags.
type Layout struct {
	Key    string   // the annotation of a flag that names its group
	Groups []string // the groups in their order; the first one has --help
	// Note is a line below a group of flags, "" for none; may be nil.
	Note func([]*pflag.Flag) string
}

// Page is what there is to say about a command.
type Page struct {
	Path, Short, Long string
	Usage, Example    string
	Parent            string // the path of the command that has it; "" for the program
	Commands          []*Page
	Groups            []Group // none if it has commands
}

// Group is the flags under one heading.
type Group struct {
	Title string
	Flags []Flag
	Note  string
}

// Flag is one flag: "-o", "--output", "text|json" and what it is for, with its default.
type Flag struct{ Short, Long, Value, Text string }

// Page reads a command, and all that it has.
func (l Layout) Page(c *cobra.Command) *Page {
	p := &Page{Path: c.CommandPath(), Short: c.Short, Long: c.Long, Example: c.Example}
	if c.HasParent() {
		p.Parent = c.Parent().CommandPath()
	}
	for _, verb := range c.Commands() {
		if verb.IsAvailableCommand() {
			p.Commands = append(p.Commands, l.Page(verb))
		}
	}
	if len(p.Commands) > 0 {
		p.Usage = p.Path + " COMMAND"
		return p
	}
	_, args, _ := strings.Cut(c.Use, " ")
	p.Usage = strings.TrimSpace(p.Path+" "+args) + " [flags]"
	c.InitDefaultHelpFlag()
	help := c.Flags().Lookup("help")
	help.Usage, help.Annotations = "Show this", map[string][]string{l.Key: l.Groups[:1]}
	for _, title := range l.Groups {
		if g, any := l.group(c, title); any {
			p.Groups = append(p.Groups, g)
		}
	}
	return p
}

// Name is the last word of the command.
func (p *Page) Name() string { return p.Path[strings.LastIndex(p.Path, " ")+1:] }

// All returns the page and those below it, in the order of reading.
func (p *Page) All() []*Page {
	all := []*Page{p}
	for _, c := range p.Commands {
		all = append(all, c.All()...)
	}
	return all
}

func (l Layout) group(c *cobra.Command, title string) (g Group, any bool) {
	var flags []*pflag.Flag
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if slices.Contains(f.Annotations[l.Key], title) && !f.Hidden {
			flags = append(flags, f)
		}
	})
	g.Title = title
	for _, f := range flags {
		g.Flags = append(g.Flags, flagOf(f))
	}
	if l.Note != nil {
		g.Note = l.Note(flags)
	}
	return g, len(flags) > 0
}

func flagOf(f *pflag.Flag) Flag {
	flag := Flag{Long: "--" + f.Name, Text: f.Usage}
	if f.Shorthand != "" {
		flag.Short = "-" + f.Shorthand
	}
	switch kind := f.Value.Type(); kind {
	case "bool":
	case "int":
		flag.Value = "count"
	case "stringSlice":
		flag.Value = "list"
	case "stringArray", "string":
		flag.Value = "text"
	default:
		flag.Value = kind
	}
	if !slices.Contains([]string{"", "false", "[]", "0", "0s"}, f.DefValue) {
		flag.Text += ", default " + f.DefValue
	}
	return flag
}

// Title is the flag as it is typed: "-o, --output text|json".
func (f Flag) Title() string {
	title := f.Long
	if f.Short != "" {
		title = f.Short + ", " + title
	}
	return strings.TrimSpace(title + " " + f.Value)
}
