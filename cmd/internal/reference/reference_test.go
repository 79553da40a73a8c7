package reference_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/reference"
)

// program has texts with what Markdown and troff take for their own.
func program() *reference.Page {
	runs := func(*cobra.Command, []string) {}
	show := &cobra.Command{
		Use: "show [ID]", Short: "Show a thing", Run: runs, Example: "  tool thing show 'a-1'",
		Long: "Changes: nothing, and\n         no *file*.\nNever:   shows a <secret>.\n\nIt reads\n[all] of x|y.\n\n  tool thing show > \\x",
	}
	show.Flags().StringP("output", "o", "a|b", "Form, `x` or [y] of a|b")
	show.Flags().Bool("quiet", false, "Say nothing")
	show.Flags().Int("hidden", 3, "Nobody sees this")
	_ = show.Flags().MarkHidden("hidden")
	for name, group := range map[string]string{"output": "Output", "quiet": "Common", "hidden": "Common"} {
		show.Flags().Lookup(name).Annotations = map[string][]string{"group": {group}}
	}
	thing := &cobra.Command{Use: "thing", Short: "Look at things", Long: "Changes: nothing.\nNever:   ends.", Example: "  tool thing show", Run: runs}
	thing.AddCommand(show, &cobra.Command{Use: "old", Hidden: true, Run: runs})
	root := &cobra.Command{
		Use: "tool", Short: "Do things", Long: ".dot begins this.\n\nExit status: 0 done,\n1 no.", Example: "  tool thing show",
	}
	root.AddCommand(thing)
	return reference.Layout{Key: "group", Groups: []string{"Common", "Output"}, Note: func(flags []*pflag.Flag) string {
		if flags[0].Name == "output" {
			return "Files are <better>."
		}
		return ""
	}}.Page(root)
}

const document = "# tool\n\nDo things.\n\n" +
	"Written by `tool docs markdown` from the commands themselves, as `--help` is. A test compares them.\n\n" +
	".dot begins this.\n\n```text\ntool COMMAND\n```\n\nExample:\n\n```sh\ntool thing show\n```\n\n" +
	"## Commands\n\n- [tool thing](#tool-thing): look at things\n  - [tool thing show](#tool-thing-show): show a thing\n\n" +
	"## Exit statuses\n\n0 done, 1 no.\n\n" +
	"## tool thing\n\nLook at things.\n\n- **Changes:** nothing.\n- **Never:** ends.\n\n" +
	"```text\ntool thing COMMAND\n```\n\nExample:\n\n```sh\ntool thing show\n```\n\n" +
	"| command | |\n| --- | --- |\n| [tool thing show](#tool-thing-show) | Show a thing |\n\n" +
	"## tool thing show\n\nShow a thing.\n\n- **Changes:** nothing, and no \\*file\\*.\n- **Never:** shows a \\<secret>.\n\n" +
	"It reads \\[all] of x|y.\n\n```sh\ntool thing show > \\x\n```\n\n" +
	"```text\ntool thing show [ID] [flags]\n```\n\nExample:\n\n```sh\ntool thing show 'a-1'\n```\n\n" +
	"| Common flags | |\n| --- | --- |\n| `-h, --help` | Show this |\n| `--quiet` | Say nothing |\n\n" +
	"| Output flags | |\n| --- | --- |\n| `-o, --output text` | Form, \\`x\\` or \\[y] of a\\|b, default a\\|b |\n\nFiles are \\<better>.\n"

func TestMarkdown(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(document, reference.Markdown(program())); diff != "" {
		t.Errorf("the document (-want +got):\n%s", diff)
	}
}

const showPage = `.TH "TOOL-THING-SHOW" "1" "" "tool" "Holdfast"
.nh
.ad l
.SH NAME
tool\-thing\-show \- show a thing
.SH SYNOPSIS
\fBtool thing show\fR [ID] [flags]
.SH DESCRIPTION
.TP
\fBChanges:\fR
nothing, and no *file*.
.TP
\fBNever:\fR
shows a <secret>.
.PP
It reads [all] of x|y.
.PP
.RS 4
.nf
tool thing show > \[rs]x
.fi
.RE
.SH OPTIONS
.SS Common
.TP
\fB\-h\fR, \fB\-\-help\fR
Show this.
.TP
\fB\-\-quiet\fR
Say nothing.
.SS Output
.TP
\fB\-o\fR, \fB\-\-output\fR \fItext\fR
Form, \[ga]x\[ga] or [y] of a|b, default a|b.
.PP
Files are <better>.
.SH EXAMPLES
.PP
.RS 4
.nf
tool thing show \[aq]a\-1\[aq]
.fi
.RE
.SH EXIT STATUS
0 done, 1 no.
.SH SEE ALSO
\fBtool\-thing\fR(1)
`

func TestManual(t *testing.T) {
	t.Parallel()
	pages := map[string]string{}
	var names []string
	for _, f := range reference.Manual(program()) {
		names = append(names, f.Name)
		pages[f.Name] = f.Text
	}
	if diff := cmp.Diff([]string{"tool.1", "tool-thing.1", "tool-thing-show.1"}, names); diff != "" {
		t.Errorf("the pages (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(showPage, pages["tool-thing-show.1"]); diff != "" {
		t.Errorf("the page of a verb (-want +got):\n%s", diff)
	}
	for _, want := range []string{"\n\\&.dot begins this.\n", "\n.SH COMMANDS\n.TP\n\\fBthing\\fR\nLook at things.\n", "\n\\fBtool\\-thing\\fR(1)\n"} {
		if !strings.Contains(pages["tool.1"], want) {
			t.Errorf("the page of the program lacks %q:\n%s", want, pages["tool.1"])
		}
	}
}

// What a reader sees on a terminal and in the two documents are the same words.
func TestHelpHasTheWordsOfTheDocuments(t *testing.T) {
	t.Parallel()
	show := program().All()[2]
	const want = "Show a thing.\n\nChanges: nothing, and\n         no *file*.\nNever:   shows a <secret>.\n\nIt reads\n[all] of x|y.\n\n  tool thing show > \\x\n\n" +
		"Usage:\n  tool thing show [ID] [flags]\n\nExample:\n  tool thing show 'a-1'\n\n" +
		"Common flags:\n  -h, --help   Show this\n      --quiet  Say nothing\n\n" +
		"Output flags:\n  -o, --output text  Form, `x` or [y] of a|b, default a|b\n\n  Files are <better>.\n"
	if diff := cmp.Diff(want, show.Help()); diff != "" {
		t.Errorf("help (-want +got):\n%s", diff)
	}
}

func TestWriteRefusesAFolderThatIsAFile(t *testing.T) {
	t.Parallel()
	taken := filepath.Join(t.TempDir(), "taken")
	if err := os.WriteFile(taken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", taken} {
		var named strings.Builder
		err := reference.Write(&named, dir, []reference.File{{Name: "tool.md", Text: "text"}})
		var wrong *exit.Error
		if !errors.As(err, &wrong) || wrong.Code != exit.Usage || wrong.Hint == "" || named.Len() > 0 {
			t.Errorf("folder %q: error %v, wrote %q", dir, err, named.String())
		}
	}
}
