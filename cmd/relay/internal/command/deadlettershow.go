package command

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/relay/retry"
)

func deadLetterShowCommand(p Process) *cobra.Command {
	c := verbWithArgs(&cobra.Command{
		Use:   "show ID",
		Short: "Show an event that was given up, and what was done with it",
		Long: effects("nothing.", "shows a payload, nor what the broker said: its digest is all that is stored of that.") +
			"\n\nID is that of a dead letter (a number) or of an event. One that was requeued or discarded is\n" +
			"shown by its history. Exit status 3 if there is none.",
		Example: "  relay dead-letter show 1",
	}, 1, 1)
	open := deadLetterFlags(c, p)
	format := outputFlag(c, output.Text, output.JSON)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		d, err := open(cmd.Context())
		if err != nil {
			return err
		}
		defer d.pool.Close()
		stories, err := d.stories(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if len(stories) == 0 {
			return exit.Errorf(exit.NotFound, "there is no dead letter %s in group %s of %s", args[0], d.group, d.database).
				WithHint("relay dead-letter list shows those that there are; --group names another group")
		}
		return writeEach(cmd.OutOrStdout(), format.Format(), stories, (*story).write)
	}
	return c
}

// story is one event and all that was done with its dead letters.
type story struct {
	State   string          `json:"state"` // dead, requeued or discarded
	EventID string          `json:"event_id"`
	Dead    *deadLetter     `json:"dead_letter"` // null when it is gone
	History []deadLetterAct `json:"history"`

	letter retry.DeadLetter
}

// stories returns the events that an id names: that of a dead letter first, else that of an event.
func (d *deadLetters) stories(ctx context.Context, text string) ([]*story, error) {
	ids, events := splitIDs([]string{text})
	var id int64
	var event string
	filter := retry.Filter{IDs: ids, EventIDs: events, Limit: most}
	if len(ids) > 0 {
		id = ids[0]
	} else {
		event = text
	}
	found, err := d.tell(ctx, filter, id, event)
	if err == nil && len(found) == 0 && event == "" {
		return d.tell(ctx, retry.Filter{EventIDs: []string{text}, Limit: most}, 0, text)
	}
	return found, err
}

func (d *deadLetters) tell(ctx context.Context, filter retry.Filter, id int64, event string) ([]*story, error) {
	acts, err := d.Trace(ctx, id, event)
	if err != nil {
		return nil, err
	}
	list, err := d.List(ctx, filter)
	if err != nil {
		return nil, err
	}
	type place struct {
		lane int16
		seq  int64
	}
	var stories []*story
	known := map[place]*story{}
	at := func(p place, eventID string) *story {
		if known[p] == nil {
			known[p] = &story{EventID: eventID, History: []deadLetterAct{}}
			stories = append(stories, known[p])
		}
		return known[p]
	}
	for _, a := range acts {
		s := at(place{a.Lane, a.Seq}, a.EventID)
		s.State = a.Action
		s.History = append(s.History, deadLetterActOf(a))
	}
	for _, l := range list {
		s := at(place{l.Lane, l.Seq}, l.EventID)
		dead := deadLetterOf(l)
		s.State, s.Dead, s.letter = "dead", &dead, l
	}
	return stories, nil
}

func (s *story) write(w io.Writer) error {
	table := output.Table{}
	table.Add("event", plain(s.EventID))
	table.Add("state", s.State)
	if s.Dead != nil {
		l := s.letter
		table.Add("id", strconv.FormatInt(l.ID, 10))
		table.Add("source", plain(l.Source))
		table.Add("type", l.Type)
		table.Add("subject", plain(l.Subject))
		table.Add("key", plain(l.Key))
		if l.Operation != "" {
			table.Add("held under", fmt.Sprintf("operation %s generation %d", l.Operation, l.Generation))
		}
		table.Add("payload", fmt.Sprintf("%s of %s, not shown", output.Count(int64(l.Bytes), "byte"), plain(l.ContentType)))
		table.Add("position", fmt.Sprintf("lane %d seq %d", l.Lane, l.Seq))
		table.Add("staged", output.Time(l.StagedAt))
		table.Add("dead since", output.Time(l.DeadAt))
		table.Add("reason", string(l.Reason))
		table.Add("detail sha256", hex.EncodeToString(l.DetailSHA256))
		table.Add("attempts", strconv.Itoa(int(l.Attempts)))
		table.Add("requeued", output.Count(int64(l.Epoch), "time"))
	}
	if err := table.Write(w); err != nil {
		return err
	}
	history := output.Table{Heads: []string{"AT", "ID", "ACTION", "ATTEMPTS", "ACTOR", "REASON"}, Right: []bool{false, true, false, true}}
	for _, a := range s.History {
		history.Add(a.At, a.DeadLetterID, a.Action, strconv.Itoa(int(a.Attempts)), plain(a.Actor), plain(a.Reason))
	}
	return writeBelow(w, &history)
}
