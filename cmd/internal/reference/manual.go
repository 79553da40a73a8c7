package reference

import (
	"fmt"
	"slices"
	"strings"
)

// Manual returns a manual page of section 1 for each command, by file name.
func Manual(program *Page) []File {
	_, statuses := program.split()
	var files []File
	for _, p := range program.All() {
		files = append(files, File{Name: pageName(p.Path) + ".1", Text: manualPage(p, program, statuses)})
	}
	return files
}

// pageName is the name of a command's page: man joins the words that follow it by hyphens.
func pageName(path string) string { return strings.ReplaceAll(path, " ", "-") }

func manualPage(p, program *Page, statuses string) string {
	var out strings.Builder
	name := pageName(p.Path)
	fmt.Fprintf(&out, ".TH \"%s\" \"1\" \"\" \"%s\" \"Holdfast\"\n.nh\n.ad l\n", strings.ToUpper(name), program.Name())
	fmt.Fprintf(&out, ".SH NAME\n%s \\- %s\n", troff(name), troff(lower(p.Short)))
	rest := strings.TrimPrefix(p.Usage, p.Path)
	fmt.Fprintf(&out, ".SH SYNOPSIS\n%s%s\n.SH DESCRIPTION\n", bold(p.Path), troff(rest))
	blocks, _ := p.split()
	for _, b := range blocks {
		manualBlock(&out, b)
	}
	if len(p.Commands) > 0 {
		out.WriteString(".SH COMMANDS\n")
		for _, c := range p.Commands {
			fmt.Fprintf(&out, ".TP\n%s\n%s.\n", bold(c.Name()), line(c.Short))
		}
	}
	if len(p.Groups) > 0 {
		out.WriteString(".SH OPTIONS\n")
	}
	for _, g := range p.Groups {
		fmt.Fprintf(&out, ".SS %s\n", troff(g.Title))
		for _, f := range g.Flags {
			fmt.Fprintf(&out, ".TP\n%s\n%s.\n", manualFlag(f), line(strings.TrimSuffix(f.Text, ".")))
		}
		if g.Note != "" {
			fmt.Fprintf(&out, ".PP\n%s\n", line(g.Note))
		}
	}
	out.WriteString(".SH EXAMPLES\n")
	manualBlock(&out, block{code: true, text: outdent(p.Example)})
	if statuses != "" {
		fmt.Fprintf(&out, ".SH EXIT STATUS\n%s\n", line(statuses))
	}
	if also := seeAlso(p); len(also) > 0 {
		fmt.Fprintf(&out, ".SH SEE ALSO\n%s\n", strings.Join(also, ",\n"))
	}
	return out.String()
}

func manualBlock(out *strings.Builder, b block) {
	switch {
	case b.code:
		out.WriteString(".PP\n.RS 4\n.nf\n")
		for text := range strings.Lines(b.text) {
			out.WriteString(line(strings.TrimRight(text, "\n")) + "\n")
		}
		out.WriteString(".fi\n.RE\n")
	case len(b.items) > 0:
		for _, i := range b.items {
			fmt.Fprintf(out, ".TP\n%s\n%s\n", bold(i.label), line(i.text))
		}
	default:
		fmt.Fprintf(out, ".PP\n%s\n", line(b.text))
	}
}

func manualFlag(f Flag) string {
	title := bold(f.Long)
	if f.Short != "" {
		title = bold(f.Short) + ", " + title
	}
	if f.Value != "" {
		title += ` \fI` + troff(f.Value) + `\fR`
	}
	return title
}

// seeAlso names the page above and those below.
func seeAlso(p *Page) []string {
	var names []string
	for _, c := range p.Commands {
		names = append(names, pageName(c.Path))
	}
	if p.Parent != "" {
		names = append(names, pageName(p.Parent))
	}
	slices.Sort(names)
	for i, name := range names {
		names[i] = bold(name) + "(1)"
	}
	return names
}

// signs are the characters that troff would take for its own, or print as others: a hyphen-minus
// must stay one, so that what is copied can be run.
var signs = strings.NewReplacer(`\`, `\[rs]`, `-`, `\-`, `'`, `\[aq]`, "`", `\[ga]`, `^`, `\[ha]`, `~`, `\[ti]`)

func troff(text string) string { return signs.Replace(text) }

func bold(text string) string { return `\fB` + troff(text) + `\fR` }

// line is a line of text, which must not begin as a request does.
func line(text string) string {
	if strings.HasPrefix(text, ".") {
		return `\&` + troff(text)
	}
	return troff(text)
}
