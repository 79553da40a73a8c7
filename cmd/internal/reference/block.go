package reference

import "strings"

// block is a part of a long text.
type block struct {
	code  bool
	items []item // of a list, when the first one has a label
	text  string
}

// item is a line with a label, as "Changes: nothing."
type item struct{ label, text string }

// The labels of what every command says of itself.
var labels = []string{"Changes:", "Never:"}

// exitStatus begins the paragraph of a program's long text that lists its statuses.
const exitStatus = "Exit status: "

// split returns the blocks of a program's or a command's long text, and the paragraph of the exit
// statuses, which only a program has for itself.
func (p *Page) split() (blocks []block, statuses string) {
	for paragraph := range strings.SplitSeq(strings.Trim(p.Long, "\n"), "\n\n") {
		if rest, found := strings.CutPrefix(paragraph, exitStatus); found && p.Parent == "" {
			statuses = joined(rest)
			continue
		}
		blocks = append(blocks, blockOf(paragraph))
	}
	return blocks, statuses
}

func blockOf(paragraph string) block {
	if strings.HasPrefix(paragraph, "  ") {
		return block{code: true, text: outdent(paragraph)}
	}
	var b block
	for line := range strings.Lines(paragraph) {
		line = strings.TrimSpace(line)
		for _, label := range labels {
			if rest, found := strings.CutPrefix(line, label); found {
				b.items = append(b.items, item{label: label})
				line = strings.TrimSpace(rest)
			}
		}
		if len(b.items) == 0 {
			b.text = joined(b.text + " " + line)
			continue
		}
		last := &b.items[len(b.items)-1]
		last.text = joined(last.text + " " + line)
	}
	return b
}

// joined is a text in one line.
func joined(text string) string { return strings.Join(strings.Fields(text), " ") }

// outdent removes the indentation of a help text from code.
func outdent(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(strings.TrimPrefix(line, "  "))
	}
	return strings.TrimRight(out.String(), "\n")
}
