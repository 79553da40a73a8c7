package command

import (
	"context"
	"io"
	"strings"
	"sync/atomic"

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
	Environ        []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer

	// jsonLog is set by a daemon whose log is JSON: whoever collects that cannot read a
	// last line that is none, and nobody gives a daemon -o.
	jsonLog *atomic.Bool
}

// Main runs the command that the arguments name, reports its error, and returns the status to
// end the process with. It returns at once at the second interrupt, whatever still runs then.
func Main(p Process) exit.Code {
	ctx, interrupts := watchInterrupts(context.Background())
	defer interrupts.stop()
	p.jsonLog = new(atomic.Bool)
	root := Tree(p)
	root.SetArgs(p.Args)
	type outcome struct {
		ran *cobra.Command
		err error
	}
	ended := make(chan outcome, 1) // so that a command that is cut can end
	go func() {
		ran, err := root.ExecuteContextC(ctx)
		ended <- outcome{ran, err}
	}()
	select {
	case end := <-ended:
		err := classify(ctx, refusedByBroker(end.ran, end.err))
		exit.Report(p.Stderr, err, p.wantsJSON(end.ran))
		return exit.Of(err)
	case <-interrupts.again:
		exit.Report(p.Stderr, exit.Errorf(exit.Interrupted, "interrupted again: cut"), p.wantsJSON(nil))
		return exit.Interrupted
	}
}

// Tree returns the commands.
func Tree(p Process) *cobra.Command {
	root := noun(&cobra.Command{
		Use:   "relay",
		Short: "Move committed events from a Postgres outbox to NATS JetStream",
		Long: "Relay drains the outbox of one database to one JetStream stream, and shows what it does.\n" +
			"A setting is a flag or a RELAY_ variable: relay config env lists them.\n\n" +
			"Exit status: 0 yes or done, 1 the answer is no, 2 usage or configuration, 3 not found,\n" +
			"4 not allowed, 5 unavailable: try again, 6 partly done, 130 interrupted.",
		Example: "  relay config env",
	}, runCommand(p), auditCommand(p), checkCommand(p), statusCommand(p), streamCommand(p), laneCommand(p), eventCommand(p), deadLetterCommand(p), holdCommand(p), operationCommand(p),
		sweepCommand(p), consumerCommand(p), reconcileCommand(p), replayCommand(p), rebaseCommand(p), pruneCommand(p), configCommand(p), completion.Command("relay", noun), reference.Command("relay", layout(), noun), versionCommand())
	root.SetIn(p.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(grammar.HelpCommand(root, unknownTopic))
	root.SetHelpFunc(help)
	root.SetFlagErrorFunc(flagError)
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		if err := given.Arguments(cmd, args); err != nil {
			return err
		}
		return given.Flags(cmd, func(v pflag.Value) bool { _, is := v.(*settingValue); return is })
	}
	return root
}

// wantsJSON reports whether errors are for programs. The arguments are looked at because a
// command line that was not understood set no flag.
func (p *Process) wantsJSON(ran *cobra.Command) bool {
	if p.jsonLog.Load() {
		return true
	}
	if ran != nil {
		if f := ran.Flags().Lookup("output"); f != nil && f.Changed {
			return strings.HasPrefix(f.Value.String(), "json")
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
		case (arg == "-o" || arg == "--output") && strings.HasPrefix(next, "json"),
			strings.HasPrefix(arg, "-ojson"), strings.HasPrefix(arg, "-o=json"), strings.HasPrefix(arg, "--output=json"):
			return true
		}
	}
	return false
}
