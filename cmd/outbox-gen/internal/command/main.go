package command

import (
	"context"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-dev/holdfast/cmd/internal/completion"
	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/given"
	"github.com/holdfast-dev/holdfast/cmd/internal/grammar"
	"github.com/holdfast-dev/holdfast/cmd/internal/reference"
)

// Process is what a command has from the process that it runs in.
type Process struct {
	Args           []string // without the name of the program
	Getenv         func(string) string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Now            func() time.Time
}

// clock is Now, or the time that a reproducible build says it is.
func (p Process) clock() (func() time.Time, error) {
	text := p.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		return p.Now, nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, exit.Errorf(exit.Usage, "SOURCE_DATE_EPOCH %q is not a number of seconds", text).WithHint("unset it to take the time of now")
	}
	return func() time.Time { return time.Unix(seconds, 0) }, nil
}

// Main runs the command that the arguments name, reports its error, and returns the status to
// end the process with.
func Main(p Process) exit.Code {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := Tree(p)
	root.SetArgs(p.Args)
	ran, err := root.ExecuteContextC(ctx)
	if err != nil && ctx.Err() != nil {
		err = exit.Errorf(exit.Interrupted, "interrupted: nothing was changed")
	}
	err = exit.Otherwise(exit.Usage, err) // a file or a folder that can't be worked with
	exit.Report(p.Stderr, err, p.wantsJSON(ran))
	return exit.Of(err)
}

// Tree returns the commands. A new one is a file of this package and a word here.
func Tree(p Process) *cobra.Command {
	root := noun(&cobra.Command{
		Use:   "outbox-gen",
		Short: "Keep one outbox schema in all services of a repository",
		Long: "The schema has one source. Every service's migrations are generated from it, in the form that its\n" +
			"migration tool wants, and compared with it byte by byte. outbox-gen.yaml says which services there are.\n\n" +
			"Exit status: 0 yes or done, 1 the answer is no (drift), 2 usage, configuration or files,\n" +
			"3 not found, 130 interrupted.",
		Example: "  outbox-gen check",
	},
		initCommand(p), writeCommand(p), checkCommand(p), verifyCommand(p), adoptCommand(p), rolesCommand(p), listCommand(p), showCommand(p), explainCommand(p),
		goCommand(p), hookCommand(p), completion.Command("outbox-gen", noun), reference.Command("outbox-gen", layout(), noun), versionCommand(p),
	)
	root.SetIn(p.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(grammar.HelpCommand(root, unknownVerb))
	root.SetHelpFunc(help)
	root.SetFlagErrorFunc(flagError)
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		if err := given.Arguments(cmd, args); err != nil {
			return err
		}
		return given.Flags(cmd, func(pflag.Value) bool { return false })
	}
	return root
}

// wantsJSON reports whether errors are for programs. The arguments are looked at because a
// command line that was not understood set no flag.
func (p Process) wantsJSON(ran *cobra.Command) bool {
	for _, name := range []string{"output", "format"} {
		if ran == nil {
			break
		}
		if f := ran.Flags().Lookup(name); f != nil && f.Changed {
			return f.Value.String() == "json"
		}
	}
	for i, arg := range p.Args {
		next := ""
		if i+1 < len(p.Args) {
			next = p.Args[i+1]
		}
		switch {
		case arg == "--":
			return false
		case (arg == "-o" || arg == "--output" || arg == "--format") && next == "json",
			arg == "-ojson", arg == "-o=json", arg == "--output=json", arg == "--format=json":
			return true
		}
	}
	return false
}
