package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/consumers"
)

func consumerPauseCommand(p Process) *cobra.Command {
	c := verbWithArgs(&cobra.Command{
		Use:   "pause GROUP",
		Short: "Pause every writer of a group, and wait until it is drained",
		Long: effects("the switch of the group, for every instance and every applier that has it; who did it and why is kept.",
			"loses or counts anything: what is not acknowledged comes again. It stops no writer that does not read the\n"+
				"         switch: see the quiesced cut-over in docs/cutover.md.") +
			"\n\nIt asks; without a terminal, and with -o json, it needs --yes. --reason is kept and needed. With --wait it\n" +
			"waits until relay consumer show proves that the group is drained. A consumer that has never handled anything\n" +
			"here may be one that was misspelt, and drained would prove nothing about the true one: it is refused without\n" +
			"--new. Exit status 0 done, 1 paused and not proven to be drained in time, or not confirmed, 3 no such consumer.",
		Example: "  relay consumer pause ledger --reason 'cut-over of ledger' --yes --wait 30s",
	}, 1, 1)
	wait := c.Flags().Duration("wait", 0, "How long to wait until the group is drained")
	names := c.Flags().StringArray("consumer", nil, "A consumer of the group, may be repeated; the name of the group if not given")
	fresh := c.Flags().Bool("new", false, "A consumer may be one that has never handled anything here")
	inGroup(c, commonFlags, "wait", "consumer", "new")
	known := func(cmd *cobra.Command, d *consumerDatabase, group string) error {
		if *fresh {
			return nil
		}
		if len(*names) == 0 {
			*names = []string{group}
		}
		return d.known(cmd.Context(), *names...)
	}
	return turnCommand(c, p, "pause", "Paused", known, func(cmd *cobra.Command, d *consumerDatabase, group string, report *turnReport) error {
		if *wait == 0 {
			return nil
		}
		look, err := d.drain(cmd, group, *names, *wait)
		if err != nil {
			return err
		}
		if look == nil {
			return exit.Errorf(exit.No, "group %s was resumed by somebody while this waited", group)
		}
		report.Drain = drainOf(look)
		return nil
	}, (*consumers.Control).Pause)
}

func consumerResumeCommand(p Process) *cobra.Command {
	return turnCommand(verbWithArgs(&cobra.Command{
		Use:   "resume GROUP",
		Short: "Let a paused group run",
		Long: effects("the switch of the group; who did it and why is kept.", "resumes one writer and not the others: there is one switch.") +
			"\n\nIt asks; without a terminal, and with -o json, it needs --yes. --reason is kept and needed.",
		Example: "  relay consumer resume ledger --reason 'gate is zero' --yes",
	}, 1, 1), p, "resume", "Resumed", nil, nil, (*consumers.Control).Resume)
}

// turnReport is the output of pause and resume: a contract, only ever added to.
type turnReport struct {
	Action   string       `json:"action"`
	Database string       `json:"database"`
	Group    string       `json:"group"`
	Changed  bool         `json:"changed"` // false: it stood so before
	Drain    *drainReport `json:"drain,omitempty"`
}

// turnCommand turns the switch of a group, between what is done first and what is done then.
func turnCommand(c *cobra.Command, p Process, name, done string, first func(*cobra.Command, *consumerDatabase, string) error,
	then func(*cobra.Command, *consumerDatabase, string, *turnReport) error, turn func(*consumers.Control, context.Context, string, string, string) (bool, error),
) *cobra.Command {
	who := decisionFlags(c, keptByConsumers, false)
	open := consumerFlags(c, p)
	format := outputFlag(c, output.Text, output.JSON)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if err := who.check(cmd, p); err != nil {
			return err
		}
		d, err := open(cmd.Context())
		if err != nil {
			return err
		}
		defer d.pool.Close()
		if first != nil {
			if err := first(cmd, d, args[0]); err != nil {
				return err
			}
		}
		question := fmt.Sprintf("%s group %s in %s?", capital(name), args[0], d.database)
		if err := confirm(cmd, question, who.yes, format.Format(), "see relay consumer show first"); err != nil {
			return err
		}
		control, err := consumers.NewControl(d.pool, d.schema)
		if err != nil {
			return err
		}
		report := &turnReport{Action: name, Database: d.database, Group: args[0]}
		if report.Changed, err = turn(control, cmd.Context(), args[0], who.actor, who.reason); err != nil {
			return err
		}
		if then != nil {
			if err := then(cmd, d, args[0], report); err != nil {
				return err
			}
		}
		return report.write(cmd, format.Format(), done)
	}
	return c
}

func (r *turnReport) write(cmd *cobra.Command, format output.Format, done string) error {
	var err error
	switch {
	case format == output.JSON:
		err = output.WriteJSON(cmd.OutOrStdout(), format, r)
	case !r.Changed:
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s already: group %s in %s.\n", done, r.Group, r.Database)
	default:
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s group %s in %s.\n", done, r.Group, r.Database)
	}
	if err != nil || r.Drain == nil {
		return err
	}
	if format == output.Text {
		text := "Drained: it commits nothing more."
		if !r.Drain.Drained {
			text = "Not proven to be drained: " + r.Drain.why() + "."
		}
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), text); err != nil {
			return err
		}
	}
	if !r.Drain.Drained {
		return exit.Answer(exit.No)
	}
	return nil
}

func capital(word string) string { return string(word[0]-'a'+'A') + word[1:] }
