package command

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/hold/saga"
)

func operationShowCommand(p Process) *cobra.Command {
	c := verbWithArgs(&cobra.Command{
		Use:   "show OP",
		Short: "Show an operation, its steps and what was done to it",
		Long: effects("nothing.", "shows what a request said or was answered.") +
			"\n\nOP is the id of the operation, a uuid. Exit status 3 if there is none.",
		Example: "  relay operation show 01890000-0000-7000-8000-000000000001",
	}, 1, 1)
	open := operationFlags(c, p)
	format := outputFlag(c, output.Text, output.JSON)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := parseOperation(args[0])
		if err != nil {
			return err
		}
		o, err := open(cmd.Context())
		if err != nil {
			return err
		}
		defer o.pool.Close()
		found, steps, acts, err := o.Show(cmd.Context(), o.pool, id)
		if err != nil {
			return o.notFound(id, err)
		}
		if format.Format() == output.JSON {
			return output.WriteJSON(cmd.OutOrStdout(), output.JSON, map[string]any{
				"operation": operationOf(found), "steps": operationStepsOf(steps), "history": operationActsOf(acts)})
		}
		return writeOperation(cmd.OutOrStdout(), operationOf(found), operationStepsOf(steps), operationActsOf(acts))
	}
	return c
}

type operationStep struct {
	Generation int    `json:"generation"`
	Key        string `json:"step_key"`
	Kind       string `json:"remote_kind"`
	RemoteID   string `json:"remote_id"`
	RecordedAt string `json:"recorded_at"`
}

func operationStepsOf(steps []saga.RecordedStep) []operationStep {
	all := make([]operationStep, 0, len(steps))
	for _, s := range steps {
		all = append(all, operationStep{s.Generation, s.Key, s.Kind, s.RemoteID, output.Time(s.RecordedAt)})
	}
	return all
}

type operationAct struct {
	At         string `json:"at"`
	Generation int    `json:"generation"`
	Action     string `json:"action"`
	Actor      string `json:"actor"`
	Reason     string `json:"reason"`
	Before     string `json:"state_before"`
	After      string `json:"state_after"`
}

func operationActsOf(acts []saga.Act) []operationAct {
	all := make([]operationAct, 0, len(acts))
	for _, a := range acts {
		all = append(all, operationAct{output.Time(a.At), a.Generation, a.Action, a.Actor, a.Reason, string(a.Before), string(a.After)})
	}
	return all
}

func writeOperation(w io.Writer, o operation, steps []operationStep, acts []operationAct) error {
	table := output.Table{}
	table.Add("operation", o.ID)
	table.Add("generation", strconv.Itoa(o.Generation))
	table.Add("kind", plain(o.Kind))
	table.Add("state", o.State)
	table.Add("since", o.UpdatedAt)
	table.Add("events released", yesNo(o.EventsReleased))
	table.Add("participants", plain(strings.Join(o.Participants, ", ")))
	table.Add("lease", leaseText(o))
	table.Add("failed attempts", strconv.Itoa(o.Attempts))
	table.Add("next attempt", o.NextAttemptAt)
	table.Add("created", o.CreatedAt)
	table.Add("digest key", plain(o.DigestKeyID))
	if err := table.Write(w); err != nil {
		return err
	}
	if len(steps) > 0 {
		below := output.Table{Heads: []string{"STEP", "GENERATION", "KIND", "REMOTE ID", "RECORDED"}, Right: []bool{false, true}}
		for _, s := range steps {
			below.Add(s.Key, strconv.Itoa(s.Generation), plain(s.Kind), plain(s.RemoteID), s.RecordedAt)
		}
		if err := writeBelow(w, &below); err != nil {
			return err
		}
	}
	if len(acts) == 0 {
		return nil
	}
	history := output.Table{Heads: []string{"AT", "GENERATION", "ACTION", "STATE", "ACTOR", "REASON"}, Right: []bool{false, true}}
	for _, a := range acts {
		history.Add(a.At, strconv.Itoa(a.Generation), a.Action, fmt.Sprintf("%s to %s", a.Before, a.After), plain(a.Actor), plain(a.Reason))
	}
	return writeBelow(w, &history)
}

func leaseText(o operation) string {
	switch {
	case o.LeaseExpiresAt == "":
		return "none"
	case o.LeaseLive:
		return "live until " + o.LeaseExpiresAt
	}
	return "over since " + o.LeaseExpiresAt
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
