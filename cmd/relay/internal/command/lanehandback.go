package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/relay"
)

// lanePlan is what a hand-back would do, and then what it did: a contract, only ever added to.
type lanePlan struct {
	Action   string      `json:"action"`
	Database string      `json:"database"`
	Group    string      `json:"group"`
	Lane     *laneReport `json:"lane"` // before
	Applied  bool        `json:"applied"`
}

func laneHandBackCommand(p Process) *cobra.Command {
	c := verbWithArgs(&cobra.Command{
		Use:   "hand-back N",
		Short: "Take a lane from its owner: its lease ends now",
		Long: effects("the lease of lane N: it ends now. A relay that has room claims the lane within a second or so, which\n"+
			"         may be the one that had it; that begins again from the cursor in the database.",
			"moves the cursor, loses an event, or stops a relay. What its owner has in flight cannot be settled any\n"+
				"         more: it is found in the stream, or published again with the same ids, which the stream drops.") +
			"\n\nFor a lane that stands still although its lease is renewed. A relay that is stopped hands its lanes back by\n" +
			"itself, and a dead one loses them after its lease. It needs the rights of the relay's role. It shows what it\n" +
			"would do, then asks; without a terminal, and with an output for programs, it needs --yes. Exit status 0 done, 1 nobody\n" +
			"owns the lane, it changed hands, or not confirmed, 3 no such lane.",
		Example: "  relay lane hand-back 3 --yes",
	}, 1, 1)
	yes := c.Flags().Bool("yes", false, "Do not ask")
	inGroup(c, commonFlags, "yes")
	open := laneFlags(c, p)
	format := outputFlag(c, output.Text, output.JSON)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		number, err := parseLane(args[0])
		if err != nil {
			return err
		}
		l, err := open(cmd.Context())
		if err != nil {
			return err
		}
		defer l.pool.Close()
		return l.handBack(cmd, number, *yes, format.Format())
	}
	return c
}

// handBack shows the plan, asks, does it and says what was done.
func (l *lanes) handBack(cmd *cobra.Command, number int16, yes bool, format output.Format) error {
	found, err := l.one(cmd.Context(), number)
	if err != nil {
		return err
	}
	if !found.status.Live {
		return laneRefused("nobody owns lane %d: its lease is %s", number, found.leaseText()).
			WithHint("a relay claims it by itself: relay status shows whether one is alive")
	}
	plan := lanePlan{Action: "hand-back", Database: l.database, Group: l.group, Lane: found}
	w := cmd.OutOrStdout()
	if format == output.Text {
		if _, err := fmt.Fprintf(w, "hand-back lane %d of group %s in %s:\n\n", number, l.group, l.database); err != nil {
			return err
		}
		if err := found.write(w); err != nil {
			return err
		}
	}
	question := fmt.Sprintf("Take lane %d from %s in %s?", number, found.Owner, l.database)
	if err := confirm(cmd, question, yes, format, "see relay lane show first"); err != nil {
		return err
	}
	if plan.Applied, err = relay.EndLease(cmd.Context(), l.pool, l.schema, l.group, number, found.Owner); err != nil {
		return err
	}
	if !plan.Applied {
		return laneRefused("lane %d changed hands meanwhile: nothing was changed", number).WithHint("see relay lane show %d", number)
	}
	if format != output.Text {
		return output.WriteJSON(w, format, plan)
	}
	_, err = fmt.Fprintf(w, "\nThe lease of %s on lane %d has ended.\n", found.Owner, number)
	return err
}

func laneRefused(format string, args ...any) *exit.Error {
	return &exit.Error{Code: exit.No, Kind: "refused", Err: fmt.Errorf(format, args...)}
}
