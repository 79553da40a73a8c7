package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/hold"
)

func holdDropEventCommand(p Process) *cobra.Command {
	c := verbWithArgs(&cobra.Command{
		Use:   "drop-event ID",
		Short: "Drop one held event (destroys it)",
		Long: effects("DESTROYS the event, which will never be published, in all copies that were staged; who did it and why is kept.",
			"touches another event, the generation, or an event that was released.") +
			"\n\nRelay hold show lists the ids. It asks first; without a terminal, and with -o json, it needs --yes. It\n" +
			"works on the database only. Exit status 1 the generation is decided, 3 there is no such event.",
		Example: "  relay hold drop-event e-1 --operation 0192f0c1-0000-7000-8000-000000000001 --generation 1 --reason 'staged by mistake' --yes",
	}, 1, 1)
	operation := c.Flags().String("operation", "", "Operation that the event is held under")
	generation := c.Flags().String("generation", "", "Its generation")
	source := c.Flags().String("source", "", "Source of the event; needed when events of several have the id")
	inGroup(c, commonFlags, "operation", "generation", "source")
	who := decisionFlags(c, keptInAudit, false)
	var flags holdFlags
	flags.databaseFlags(c, p)
	format := outputFlag(c, output.Text, output.JSON, output.Name)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if *operation == "" || *generation == "" {
			return exit.Errorf(exit.Usage, "%s needs --operation and --generation", cmd.CommandPath()).
				WithHint("relay hold show OPERATION GENERATION lists its events")
		}
		h, err := parseHold([]string{*operation, *generation})
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
		d, ok := at.(*holdDatabase)
		if !ok {
			return exit.Errorf(exit.Usage, "%s needs a database", cmd.CommandPath())
		}
		if format.Format() == output.Text {
			if _, err := fmt.Fprintf(cmd.OutOrStdout(), "drop held event %s of %s in %s\n", plain(args[0]), holdName(h), d.where()); err != nil {
				return err
			}
		}
		question := fmt.Sprintf("Destroy event %s of %s in %s?", plain(args[0]), holdName(h), d.where())
		if err := confirm(cmd, question, who.yes, format.Format(), "see relay hold show first"); err != nil {
			return err
		}
		n, err := d.store.DropEvent(ctx, d.pool, h, hold.EventName{ID: args[0], Source: *source}, who.actor, who.reason)
		if err != nil {
			return err
		}
		if n == 0 {
			return exit.Errorf(exit.NotFound, "no event %s is held under %s in %s", plain(args[0]), holdName(h), d.where()).
				WithHint("relay hold show OPERATION GENERATION lists its events")
		}
		return writeDropped(cmd, format.Format(), droppedEvent{"drop-event", d.where(), h.Operation.String(), h.Generation, args[0], n})
	}
	return c
}

// droppedEvent is what drop-event has in JSON: a contract, only ever added to.
type droppedEvent struct {
	Action      string `json:"action"`
	Participant string `json:"participant"`
	Operation   string `json:"operation"`
	Generation  int    `json:"generation"`
	EventID     string `json:"event_id"`
	Copies      int64  `json:"copies"`
}

func writeDropped(cmd *cobra.Command, format output.Format, d droppedEvent) error {
	w := cmd.OutOrStdout()
	text := fmt.Sprintf("\nDropped event %s: %s.", plain(d.EventID), plural(d.Copies, "copy", "copies"))
	switch format {
	case output.JSON:
		return output.WriteJSON(w, format, d)
	case output.Name:
		text = d.EventID
	}
	_, err := fmt.Fprintln(w, text)
	return err
}

func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return output.Number(n) + " " + many
}
