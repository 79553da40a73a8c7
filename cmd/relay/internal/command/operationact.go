package command

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/hold/saga"
)

// operationActHelp is what both acts say of themselves.
const operationActHelp = "\n\nOP is the id of the operation. It shows what it would do, then asks; without a terminal, and with an\n" +
	"output for programs, it needs --yes. --reason is kept and needed. Exit status 0 done, 1 refused or not\n" +
	"confirmed, 3 no such operation."

func operationRetryCommand(p Process) *cobra.Command {
	return operationActCommand(p, operationVerb{
		name: "retry", act: (*saga.Store).Retry, hint: "retry takes one that is stuck or compensating, or completed and not released",
		Command: cobra.Command{
			Use:   "retry OP",
			Short: "Have the reconciler try an operation again, now",
			Long: effects("an operation that is stuck or compensating, or completed and not released: it is due now, with no\n"+
				"         failed attempts counted.", "calls a participant: the reconciler of the coordinator does.") + operationActHelp,
			Example: "  relay operation retry 01890000-0000-7000-8000-000000000001 --reason 'billing is back' --yes",
		},
	})
}

func operationAbortCommand(p Process) *cobra.Command {
	return operationActCommand(p, operationVerb{
		name: "abort", act: (*saga.Store).Abort, hint: "abort takes one that is in progress and whose lease is over; relay operation retry takes one that is stuck",
		Command: cobra.Command{
			Use:   "abort OP",
			Short: "Have the reconciler undo an operation now (destroys what it made)",
			Long: effects("an operation that is in progress and whose lease is over: what it made at its participants is\n"+
				"         UNDONE, without waiting for the grace; its client may start it anew.",
				"interrupts a holder that lives, or undoes what is completed.") + operationActHelp,
			Example: "  relay operation abort 01890000-0000-7000-8000-000000000002 --reason 'customer left' --yes",
		},
	})
}

// operationVerb is something that is done with an operation.
type operationVerb struct {
	cobra.Command
	name, hint string
	act        func(s *saga.Store, ctx context.Context, db saga.DB, id uuid.UUID, by, reason string) (saga.State, bool, error)
}

// operationPlan is what an act would do, and then what it did: a contract, only ever added to.
type operationPlan struct {
	Action    string    `json:"action"`
	Database  string    `json:"database"`
	Operation operation `json:"operation"` // before
	Applied   bool      `json:"applied"`
	State     string    `json:"state"` // now
}

func operationActCommand(p Process, v operationVerb) *cobra.Command {
	c := verbWithArgs(&v.Command, 1, 1)
	who := decisionFlags(c, keptInAudit, false)
	open := operationFlags(c, p)
	format := outputFlag(c, output.Text, output.JSON)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := parseOperation(args[0])
		if err != nil {
			return err
		}
		if err := who.check(cmd, p); err != nil {
			return err
		}
		o, err := open(cmd.Context())
		if err != nil {
			return err
		}
		defer o.pool.Close()
		return o.carryOut(cmd, &v, id, who, format.Format())
	}
	return c
}

// carryOut shows the plan, asks, does it and says what was done.
func (o *operations) carryOut(cmd *cobra.Command, v *operationVerb, id uuid.UUID, who *decision, format output.Format) error {
	found, _, _, err := o.Show(cmd.Context(), o.pool, id)
	if err != nil {
		return o.notFound(id, err)
	}
	plan := operationPlan{Action: v.name, Database: o.database, Operation: operationOf(found), State: string(found.State)}
	if format == output.Text {
		if err := plan.write(cmd.OutOrStdout()); err != nil {
			return err
		}
	}
	question := fmt.Sprintf("%s operation %s in %s?", capital(v.name), id, o.database)
	if err := confirm(cmd, question, who.yes, format, "see relay operation show first"); err != nil {
		return err
	}
	state, changed, err := v.act(o.Store, cmd.Context(), o.pool, id, who.actor, who.reason)
	if err != nil {
		return o.notFound(id, err)
	}
	plan.State, plan.Applied = string(state), changed
	if !changed {
		return (&exit.Error{Code: exit.No, Kind: "refused", Err: fmt.Errorf("operation %s is %s: nothing was changed", id, describe(found, state))}).WithHint("%s", v.hint)
	}
	if format != output.Text {
		return output.WriteJSON(cmd.OutOrStdout(), format, plan)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "\nOperation %s is %s and due now.\n", id, state)
	return err
}

// describe says what an operation is, as far as that decides.
func describe(o saga.Operation, state saga.State) string {
	switch {
	case state == saga.StateInProgress && o.LeaseLive:
		return "in_progress, and its lease is live"
	case state == saga.StateCompleted && o.EventsReleased:
		return "completed and released"
	}
	return string(state)
}

func (p *operationPlan) write(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "%s operation %s in %s:\n\n", p.Action, p.Operation.ID, p.Database); err != nil {
		return err
	}
	table := output.Table{}
	table.Add("generation", fmt.Sprint(p.Operation.Generation))
	table.Add("kind", plain(p.Operation.Kind))
	table.Add("state", p.Operation.State)
	table.Add("since", p.Operation.UpdatedAt)
	table.Add("lease", leaseText(p.Operation))
	table.Add("participants", plain(strings.Join(p.Operation.Participants, ", ")))
	return table.Write(w)
}
