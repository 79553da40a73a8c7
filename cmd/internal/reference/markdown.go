package reference

import (
	"fmt"
	"strings"
)

// Markdown is the document of a program: all of its commands, with a table of contents.
func Markdown(program *Page) string {
	var out strings.Builder
	blocks, statuses := program.split()
	fmt.Fprintf(&out, "# %s\n\n%s.\n\n", program.Name(), markdown(program.Short))
	fmt.Fprintf(&out, "Written by `%s docs markdown` from the commands themselves, as `--help` is. A test compares them.\n\n", program.Path)
	writeBlocks(&out, blocks)
	writeUsage(&out, program)
	out.WriteString("## Commands\n\n")
	for _, p := range program.All()[1:] {
		depth := strings.Count(p.Path, " ") - 1
		fmt.Fprintf(&out, "%s- [%s](#%s): %s\n", strings.Repeat("  ", depth), p.Path, anchor(p.Path), markdown(lower(p.Short)))
	}
	if statuses != "" {
		fmt.Fprintf(&out, "\n## Exit statuses\n\n%s\n", markdown(statuses))
	}
	for _, p := range program.All()[1:] {
		writeSection(&out, p)
	}
	return out.String()
}

// writeSection ends without an empty line, and begins with one.
func writeSection(out *strings.Builder, p *Page) {
	fmt.Fprintf(out, "\n## %s\n\n%s.\n\n", p.Path, markdown(p.Short))
	blocks, _ := p.split()
	writeBlocks(out, blocks)
	var body strings.Builder
	writeUsage(&body, p)
	if len(p.Commands) > 0 {
		body.WriteString("| command | |\n| --- | --- |\n")
		for _, c := range p.Commands {
			fmt.Fprintf(&body, "| [%s](#%s) | %s |\n", c.Path, anchor(c.Path), cell(c.Short))
		}
	}
	for _, g := range p.Groups {
		fmt.Fprintf(&body, "| %s flags | |\n| --- | --- |\n", g.Title)
		for _, f := range g.Flags {
			fmt.Fprintf(&body, "| `%s` | %s |\n", strings.ReplaceAll(f.Title(), "|", `\|`), cell(f.Text))
		}
		if g.Note != "" {
			fmt.Fprintf(&body, "\n%s\n", markdown(g.Note))
		}
		body.WriteString("\n")
	}
	out.WriteString(strings.TrimRight(body.String(), "\n") + "\n")
}

func writeUsage(out *strings.Builder, p *Page) {
	fmt.Fprintf(out, "```text\n%s\n```\n\n", p.Usage)
	fmt.Fprintf(out, "Example:\n\n```sh\n%s\n```\n\n", outdent(p.Example))
}

func writeBlocks(out *strings.Builder, blocks []block) {
	for _, b := range blocks {
		switch {
		case b.code:
			fmt.Fprintf(out, "```sh\n%s\n```\n", b.text)
		case len(b.items) > 0:
			for _, i := range b.items {
				fmt.Fprintf(out, "- **%s** %s\n", i.label, markdown(i.text))
			}
		default:
			out.WriteString(markdown(b.text) + "\n")
		}
		out.WriteString("\n")
	}
}

// anchor is what a forge makes of the heading of a command.
func anchor(path string) string { return strings.ReplaceAll(strings.ToLower(path), " ", "-") }

func lower(text string) string { return strings.ToLower(text[:1]) + text[1:] }

// markup is what Markdown would take for its own in the middle of a line. An underscore inside a
// word is none, and at its end it closes nothing that was not opened.
var markup = strings.NewReplacer(`\`, `\\`, "`", "\\`", `*`, `\*`, `<`, `\<`, `[`, `\[`, ` _`, ` \_`, `(_`, `(\_`, `&`, `&amp;`)

func markdown(text string) string { return markup.Replace(joined(text)) }

func cell(text string) string { return strings.ReplaceAll(markdown(text), "|", `\|`) }
