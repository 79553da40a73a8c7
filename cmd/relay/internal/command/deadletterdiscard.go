package command

import (
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/relay/retry"
)

func deadLetterDiscardCommand(p Process) *cobra.Command {
	return deadLetterActCommand(p, deadLetterVerb{
		name: "discard", done: "Discarded", act: (*retry.Store).Discard,
		Command: cobra.Command{
			Use:   "discard [ID...]",
			Short: "Remove dead letters for good (destroys their events)",
			Long: effects("dead letters: they are DESTROYED with their copies of the events, which will never be published;\n"+
				"         who did it and why is kept.", "touches the log of events, or what waits.") + deadLetterActHelp,
			Example: "  relay dead-letter discard 2 --reason 'test data' --yes\n" +
				"  relay dead-letter discard --type order.tested --before 2h",
		},
	})
}
