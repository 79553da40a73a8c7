package command

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/outbox"
)

// expiryGrace is how far the clock of this machine may be ahead of the one that judges.
const expiryGrace = time.Minute

func holdRegisterCommand(p Process) *cobra.Command {
	c := verbWithArgs(&cobra.Command{
		Use:   "register OPERATION GENERATION",
		Short: "Open a generation for held events, as a coordinator does",
		Long: effects("the generation, if there is none; who did it is kept. An earlier one that is undecided is SUPERSEDED for good: its\n"+
			"         held events can only be dropped then.", "changes one that is there otherwise: it says in which state that is.") +
			"\n\nIt asks before it supersedes one; without a terminal, and with an output for programs, it needs --yes.\n" +
			"Exit status 0 it is active, 1 it is decided already, or there is a later one, or not confirmed.",
		Example: "  relay hold register 0192f0c1-0000-7000-8000-000000000001 1",
	}, 2, 2)
	who := decisionFlags(c, withoutReason, false)
	var expires futureMoment
	c.Flags().Var(&expires, "expires-at", "When it is overdue if nobody has decided: RFC 3339, or \"2026-11-29 10:00Z\"; never if not given")
	onExpiry := output.NewChoice(string(hold.AlarmOnExpiry), string(hold.CancelOnExpiry))
	c.Flags().Var(onExpiry, "on-expiry", "What happens then")
	inGroup(c, commonFlags, "expires-at", "on-expiry")
	complete(c, "on-expiry", onExpiry.Allowed())
	var flags holdFlags
	flags.surfaceFlags(c, p)
	format := outputFlag(c, output.Text, output.JSON, output.Name)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		h, err := parseHold(args)
		if err != nil {
			return err
		}
		if cmd.Flags().Changed("on-expiry") && expires.at.IsZero() {
			return exit.Errorf(exit.Usage, "--on-expiry needs --expires-at")
		}
		if !expires.at.IsZero() && time.Since(expires.at) > expiryGrace {
			return exit.Errorf(exit.Usage, "--expires-at %s is past: the generation would be overdue at once", expires.text).
				WithHint("name a time to come, or leave it out")
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
		if err := confirmSuperseding(cmd, ctx, at, h, who.yes, format.Format()); err != nil {
			return err
		}
		order := &holdOrder{signature: who.signature, expiresAt: expires.at, onExpiry: hold.OnExpiry(onExpiry.Value())}
		answer, err := at.register(ctx, h, order)
		if err != nil {
			return err
		}
		text := fmt.Sprintf("Registered %s in %s.", holdName(h), at.where())
		if !answer.Changed {
			text = fmt.Sprintf("%s in %s is %s already.", holdName(h), at.where(), answer.State)
		}
		if err := writeHoldOutcome(cmd, format.Format(), outcomeOf("register", at, h, answer), text); err != nil {
			return err
		}
		if answer.State != hold.Active {
			return exit.Answer(exit.No)
		}
		return nil
	}
	return c
}

// supersededBy returns the generation that one to come supersedes: the highest, if it is undecided. Nil for none.
func supersededBy(list []holdGeneration, generation int) *holdGeneration {
	for i := range list {
		g := &list[i]
		if g.State == string(hold.Active) && !g.Superseded && g.Generation < generation {
			return g
		}
	}
	return nil
}

// superseding says what becomes of it.
func (g *holdGeneration) superseding(by int) string {
	return fmt.Sprintf("generation %d is %s, with %s held: generation %d supersedes it for good, and they can only be dropped then",
		g.Generation, g.stateOf(), output.Count(g.Held, "event"), by)
}

// confirmSuperseding shows which generation would be superseded, and asks. It says nothing where none would.
func confirmSuperseding(cmd *cobra.Command, ctx context.Context, at holds, h outbox.Hold, yes bool, format output.Format) error {
	list, err := at.generations(ctx, h.Operation)
	if err != nil {
		return err
	}
	g := supersededBy(list, h.Generation)
	if g == nil || len(only(list, h.Generation)) > 0 {
		return nil
	}
	if format == output.Text {
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "register %s in %s:\n\n  %s\n\n", holdName(h), at.where(), g.superseding(h.Generation)); err != nil {
			return err
		}
	}
	question := fmt.Sprintf("Register %s in %s, and supersede generation %d?", holdName(h), at.where(), g.Generation)
	return confirm(cmd, question, yes, format, fmt.Sprintf("decide about generation %d first: relay hold release, or relay hold cancel", g.Generation))
}
