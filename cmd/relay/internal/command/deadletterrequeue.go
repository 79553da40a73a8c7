package command

import (
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/relay/retry"
)

func deadLetterRequeueCommand(p Process) *cobra.Command {
	return deadLetterActCommand(p, deadLetterVerb{
		name: "requeue", done: "Requeued", act: (*retry.Store).Requeue,
		Command: cobra.Command{
			Use:   "requeue [ID...]",
			Short: "Try dead letters again",
			Long: effects("dead letters: they wait for a relay again, with no attempts counted; who did it and why is kept.",
				"publishes by itself, or changes an event.") + deadLetterActHelp +
				"\n\nRequeue what was mended: a limit that was raised, a stream that was changed. What is refused\n" +
				"again becomes a dead letter again.",
			Example: "  relay dead-letter requeue 1 --reason 'limit raised' --yes\n" +
				"  relay dead-letter requeue --reason-code message_too_large --since 2h\n" +
				"  relay dead-letter requeue --reason-code message_too_large --reason 'limit raised' --apply --yes",
		},
	})
}
