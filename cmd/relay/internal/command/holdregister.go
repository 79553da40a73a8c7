package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/hold"
)

func holdRegisterCommand(p Process) *cobra.Command {
	c := verbWithArgs(&cobra.Command{
		Use:   "register OPERATION GENERATION",
		Short: "Open a generation for held events, as a coordinator does",
		Long: effects("the generation, if there is none; who did it is kept.", "changes one that is there: it says in which state that is.") +
			"\n\nExit status 0 it is active, 1 it is decided already, or there is a later one.",
		Example: "  relay hold register 0192f0c1-0000-7000-8000-000000000001 1",
	}, 2, 2)
	actor := c.Flags().String("actor", "", "Who does it, 1 to 255 bytes; the user of this machine if not given")
	var expires futureMoment
	c.Flags().Var(&expires, "expires-at", "When it is overdue if nobody has decided: RFC 3339, or \"2026-11-29 10:00Z\"; never if not given")
	onExpiry := output.NewChoice(string(hold.AlarmOnExpiry), string(hold.CancelOnExpiry))
	c.Flags().Var(onExpiry, "on-expiry", "What happens then")
	inGroup(c, commonFlags, "actor", "expires-at", "on-expiry")
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
		order := &holdOrder{actor: *actor, expiresAt: expires.at, onExpiry: hold.OnExpiry(onExpiry.Value())}
		if err := order.check(cmd, p, false); err != nil {
			return err
		}
		if err := flags.check(cmd); err != nil {
			return err
		}
		ctx, cancel, at, err := flags.open(cmd.Context())
		if err != nil {
			return err
		}
		defer cancel()
		defer at.close()
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
