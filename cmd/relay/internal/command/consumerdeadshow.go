package command

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/consumers/people"
)

// consumerLetter is a dead letter as JSON has it: a contract, only ever added to.
type consumerLetter struct {
	ID           string `json:"id"`
	Consumer     string `json:"consumer"`
	Stream       string `json:"stream"`
	StreamSeq    string `json:"stream_seq"`
	EventSource  string `json:"event_source"`
	EventID      string `json:"event_id"`
	EventType    string `json:"event_type"`
	Reason       string `json:"reason"`
	DetailSHA256 string `json:"detail_sha256"`
	Attempts     int    `json:"attempts"`
	State        string `json:"state"`
	DeadAt       string `json:"dead_at"`
	ChangedAt    string `json:"changed_at"`
	ClaimUntil   string `json:"claim_until"`
}

func consumerLetterOf(l people.DeadLetter) consumerLetter {
	return consumerLetter{strconv.FormatInt(l.ID, 10), l.Consumer, l.Stream, strconv.FormatInt(l.StreamSeq, 10), l.EventSource, l.EventID, l.EventType,
		l.Reason, l.DetailSHA256, l.Attempts, l.State, output.Time(l.DeadAt), output.Time(l.ChangedAt), timeOrEmpty(l.ClaimUntil)}
}

// consumerAct is a line of history as JSON has it.
type consumerAct struct {
	At       string `json:"at"`
	State    string `json:"state"`
	Actor    string `json:"actor"`
	Reason   string `json:"reason"`
	Attempts int    `json:"attempts"`
}

func consumerDeadShowCommand(p Process) *cobra.Command {
	return consumerShowByID(&cobra.Command{
		Use:     "show ID",
		Short:   "Show a message that a consumer gave up, and what was done with it",
		Long:    effects("nothing.", "shows a payload, nor the text of an error: its digest is all that is stored of that.") + "\n\nExit status 3 if there is none.",
		Example: "  relay consumer dead-letter show 1",
	}, p, func(cmd *cobra.Command, d *consumerDatabase, id int64, format output.Format) error {
		list, err := d.DeadLetters(cmd.Context(), people.Filter{IDs: []int64{id}})
		if err != nil {
			return err
		}
		acts, err := d.History(cmd.Context(), id)
		if err != nil {
			return err
		}
		if len(list) == 0 && len(acts) == 0 {
			return exit.Errorf(exit.NotFound, "there is no dead letter %d in %s", id, d.database).WithHint("relay consumer dead-letter list shows those that there are")
		}
		return writeConsumerLetter(cmd, format, list, acts)
	})
}

func writeConsumerLetter(cmd *cobra.Command, format output.Format, list []people.DeadLetter, acts []people.Act) error {
	history := make([]consumerAct, 0, len(acts))
	for _, a := range acts {
		history = append(history, consumerAct{output.Time(a.At), a.State, a.Actor, a.Reason, a.Attempts})
	}
	if format == output.JSON {
		var letter *consumerLetter // null when it is gone
		if len(list) > 0 {
			l := consumerLetterOf(list[0])
			letter = &l
		}
		return output.WriteJSON(cmd.OutOrStdout(), format, map[string]any{"dead_letter": letter, "history": history})
	}
	var rows [][2]string
	if len(list) > 0 {
		l := list[0]
		rows = [][2]string{
			{"dead letter", strconv.FormatInt(l.ID, 10)}, {"state", l.State}, {"consumer", plain(l.Consumer)},
			{"message", fmt.Sprintf("%d of stream %s", l.StreamSeq, plain(l.Stream))}, {"event", plain(l.EventID)}, {"source", plain(l.EventSource)},
			{"type", plain(l.EventType)}, {"reason", l.Reason}, {"detail sha256", l.DetailSHA256}, {"attempts", strconv.Itoa(l.Attempts)},
			{"dead since", output.Time(l.DeadAt)}, {"claimed until", plain(timeOrEmpty(l.ClaimUntil))},
		}
	}
	told := output.Table{Heads: []string{"AT", "STATE", "ATTEMPTS", "ACTOR", "REASON"}, Right: []bool{false, false, true}}
	for _, a := range history {
		told.Add(a.At, a.State, strconv.Itoa(a.Attempts), plain(a.Actor), plain(a.Reason))
	}
	return writeShown(cmd, rows, &told)
}
