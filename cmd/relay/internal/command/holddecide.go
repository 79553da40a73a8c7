package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/outbox"
)

// holdDecideHelp is what both decisions say of themselves.
const holdDecideHelp = "\n\nIt shows what it would do, then asks; without a terminal, and with an output for programs, it needs\n" +
	"--yes. --reason is kept and needed. It waits for held writes that are open. Exit status 0 done, or it\n" +
	"was done already; 1 the other decision was first, or not confirmed; 3 there is no such generation."

// holdVerb is a decision about a generation.
type holdVerb struct {
	cobra.Command
	name, done string
	state      hold.GenerationState // that it leads to
	decide     func(holds, context.Context, outbox.Hold, *holdOrder) (hold.Answer, error)
}

func holdReleaseCommand(p Process) *cobra.Command {
	return holdDecideCommand(p, holdVerb{
		name: "release", done: "Released", state: hold.Released, decide: holds.release,
		Command: cobra.Command{
			Use:   "release OPERATION GENERATION",
			Short: "Let the held events of a generation go",
			Long: effects("the generation: it is sealed, and its events enter the log and are published. That cannot be undone.",
				"releases one that was cancelled.") + holdDecideHelp,
			Example: "  relay hold release 0192f0c1-0000-7000-8000-000000000001 1 --reason 'coordinator says committed' --yes",
		},
	})
}

func holdCancelCommand(p Process) *cobra.Command {
	return holdDecideCommand(p, holdVerb{
		name: "cancel", done: "Cancelled", state: hold.Cancelled, decide: holds.cancel,
		Command: cobra.Command{
			Use:   "cancel OPERATION GENERATION",
			Short: "Drop the held events of a generation (destroys them)",
			Long: effects("the generation: its held events are DESTROYED. One that was never registered gets a tombstone, and\n"+
				"         stays closed.", "cancels one that was released, or undoes entities: the service or its keeper does.") + holdDecideHelp,
			Example: "  relay hold cancel 0192f0c1-0000-7000-8000-000000000002 1 --reason 'coordinator says aborted' --yes",
		},
	})
}

func holdDecideCommand(p Process, v holdVerb) *cobra.Command {
	c := verbWithArgs(&v.Command, 2, 2)
	who := decisionFlags(c, keptInAudit, false)
	var flags holdFlags
	flags.surfaceFlags(c, p)
	format := outputFlag(c, output.Text, output.JSON, output.Name)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		h, err := parseHold(args)
		if err != nil {
			return err
		}
		if err := who.check(cmd, p); err != nil {
			return err
		}
		ctx, cancel, at, err := flags.open(cmd)
		if err != nil {
			return err
		}
		defer cancel()
		defer at.close()
		return v.carryOut(cmd, ctx, at, h, who, format.Format())
	}
	return c
}

// carryOut shows what is there, asks, decides and says what was done.
func (v *holdVerb) carryOut(cmd *cobra.Command, ctx context.Context, at holds, h outbox.Hold, who *decision, format output.Format) error {
	list, err := at.generations(ctx, h.Operation)
	if err != nil {
		return err
	}
	var plan string
	found := only(list, h.Generation)
	switch {
	case len(found) == 1:
		g := found[0]
		plan = fmt.Sprintf("%s %s in %s:\n\n  %s, %s held, registered %s ago", v.name, holdName(h), at.where(),
			g.stateOf(), output.Count(g.Held, "event"), age(g.Age))
		if g.Principal != "" {
			plan += " by " + plain(g.Principal)
		}
	case v.state == hold.Cancelled:
		plan = fmt.Sprintf("%s %s in %s:\n\n  never registered here: it gets a tombstone", v.name, holdName(h), at.where())
		if g := supersededBy(list, h.Generation); g != nil {
			plan += "\n  " + g.superseding(h.Generation)
		}
	default:
		return exit.Errorf(exit.NotFound, "there is no %s in %s", holdName(h), at.where()).WithHint("relay hold list shows those that there are")
	}
	if format == output.Text {
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), plan); err != nil {
			return err
		}
	}
	// The release of a superseded generation is refused, whatever somebody answers.
	decided := len(found) == 1 && (found[0].State != string(hold.Active) || found[0].Superseded && v.state == hold.Released)
	if !decided { // nothing changes any more, and the call says so
		question := fmt.Sprintf("%s %s in %s?", capital(v.name), holdName(h), at.where())
		if err := confirm(cmd, question, who.yes, format, "see relay hold show first"); err != nil {
			return err
		}
	}
	answer, err := v.decide(at, ctx, h, &holdOrder{signature: who.signature})
	if err != nil {
		return err
	}
	text := fmt.Sprintf("\n%s %s: %s.", v.done, holdName(h), movedBy(answer))
	if !answer.Changed {
		text = fmt.Sprintf("\nIt is %s already: %s. Nothing was changed.", answer.State, movedBy(answer))
	}
	return writeHoldOutcome(cmd, format, outcomeOf(v.name, at, h, answer), text)
}

func movedBy(a hold.Answer) string {
	if a.State == hold.Released {
		return output.Count(a.Released, "event") + " released"
	}
	return output.Count(a.Dropped, "event") + " dropped"
}

// holdOutcome is what a command did, as JSON has it: a contract, only ever added to.
type holdOutcome struct {
	Action        string `json:"action"`
	Participant   string `json:"participant"`
	Operation     string `json:"operation"`
	Generation    int    `json:"generation"`
	State         string `json:"state"`
	MaxGeneration int    `json:"max_generation"`
	Held          int64  `json:"held"`
	Released      int64  `json:"released"`
	Dropped       int64  `json:"dropped"`
	Changed       bool   `json:"changed"`
}

func outcomeOf(action string, at holds, h outbox.Hold, a hold.Answer) holdOutcome {
	return holdOutcome{action, at.where(), h.Operation.String(), h.Generation, string(a.State), a.MaxGeneration, a.Held, a.Released, a.Dropped, a.Changed}
}

func writeHoldOutcome(cmd *cobra.Command, format output.Format, o holdOutcome, text string) error {
	w := cmd.OutOrStdout()
	switch format {
	case output.JSON:
		return output.WriteJSON(w, format, o)
	case output.Name:
		text = fmt.Sprintf("%s %d", o.Operation, o.Generation)
	}
	_, err := fmt.Fprintln(w, text)
	return err
}
