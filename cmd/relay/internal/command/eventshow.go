package command

import (
	"context"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/relay/events"
	"github.com/holdfast-dev/holdfast/relay/retention"
	"github.com/holdfast-dev/holdfast/relay/retry"
)

func eventShowCommand(p Process) *cobra.Command {
	c := verbWithArgs(&cobra.Command{
		Use:   "show ID",
		Short: "Show an event: its attributes, its state, and how long the log keeps it",
		Long: effects("nothing.", "shows a payload without --data, which needs the rights of the relay's role.") +
			"\n\nID is that of the event. All events with it are shown: sources may share ids. There is no index on ids, so it\n" +
			"reads the whole log. In which batch an event was settled is known when one batch alone can have it. Exit\nstatus 3 if there is none.",
		Example: "  relay event show order-17",
	}, 1, 1)
	data := c.Flags().Bool("data", false, "Show the payload too; JSON has it in base64")
	inGroup(c, commonFlags, "data")
	open := eventFlags(c, p)
	format := outputFlag(c, output.Text, output.JSON)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		l, err := open(cmd.Context())
		if err != nil {
			return err
		}
		defer l.pool.Close()
		views, err := l.views(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if len(views) == 0 {
			return l.notFound(args[0])
		}
		for _, v := range views {
			if *data {
				if v.Data, err = l.Data(cmd.Context(), v.event); err != nil {
					return err
				}
				v.withData = true
			}
		}
		return writeEach(cmd.OutOrStdout(), format.Format(), views, (*eventView).write)
	}
	return c
}

// eventView is all that is known of an event, as JSON has it: a contract, only ever added to.
type eventView struct {
	eventReport
	Retry      *eventRetry     `json:"retry"`
	DeadLetter *deadLetter     `json:"dead_letter"`
	Batches    []laneBatch     `json:"batches"` // that may have it; it is in one of them
	History    []deadLetterAct `json:"dead_letter_history"`
	WaitsIn    *laneReport     `json:"waits_in"` // null unless it waits for its lane
	Retention  *eventKept      `json:"retention"`
	Data       []byte          `json:"data_base64,omitempty"`

	event    *events.Event
	fate     *events.Fate
	acts     []retry.Act
	withData bool
}

// eventKept is how long the log keeps an event.
type eventKept struct {
	Slot    int16  `json:"slot"`
	Outcome string `json:"outcome"` // of a rotation now, as relay prune has it
	Why     string `json:"why"`
	Until   string `json:"until"` // not before that; "" when that is not known yet
}

// views reads the events with an id.
func (l *eventLog) views(ctx context.Context, id string) ([]*eventView, error) {
	found, err := l.Find(ctx, id)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	dead, err := l.letters.List(ctx, retry.Filter{EventIDs: []string{id}, Limit: most})
	if err != nil {
		return nil, err
	}
	acts, err := l.letters.Trace(ctx, 0, id)
	if err != nil {
		return nil, err
	}
	kept, err := retention.Look(ctx, l.pool, l.schema, l.keep)
	if err != nil {
		return nil, err
	}
	var views []*eventView
	for i := range found {
		v := &eventView{event: &found[i], eventReport: eventOf(&found[i]), History: []deadLetterAct{}}
		for _, d := range dead {
			if d.Lane == v.Lane && d.Seq == v.event.Seq {
				letter := deadLetterOf(d)
				v.DeadLetter = &letter
			}
		}
		for _, a := range acts {
			if a.Lane == v.Lane && a.Seq == v.event.Seq {
				v.acts, v.History = append(v.acts, a), append(v.History, deadLetterActOf(a))
			}
		}
		if err := l.complete(ctx, v, kept); err != nil {
			return nil, err
		}
		views = append(views, v)
	}
	return views, nil
}

// complete adds what became of an event and how long it is kept.
func (l *eventLog) complete(ctx context.Context, v *eventView, kept *retention.State) error {
	fate, err := l.Fate(ctx, v.event, len(v.History) > 0)
	if err != nil {
		return err
	}
	v.fate, v.Retry, v.Batches = fate, eventRetryOf(fate.Retry), eventBatchesOf(fate.Batches)
	if v.event.State == events.Waiting && v.Retry == nil {
		if v.WaitsIn, err = l.one(ctx, v.Lane); err != nil {
			return err
		}
	}
	for _, slot := range kept.Slots {
		if v.Slot == nil || slot.Slot != *v.Slot {
			continue
		}
		v.Retention = &eventKept{Slot: slot.Slot, Outcome: string(slot.Outcome), Why: kept.Reason(slot)}
		if slot.Dated != nil && slot.Outcome != retention.Current {
			v.Retention.Until = output.Time(slot.Dated.Add(kept.Keep))
		}
	}
	return nil
}

// text says for people how long the event stays.
func (k *eventKept) text() string {
	switch retention.Outcome(k.Outcome) {
	case retention.Current:
		return fmt.Sprintf("in slot %d, into which events go now", k.Slot)
	case retention.Young:
		return fmt.Sprintf("in slot %d, which is not emptied before %s", k.Slot, k.Until)
	}
	return fmt.Sprintf("in slot %d, which could be emptied since %s: %s, %s", k.Slot, k.Until, k.Outcome, plain(k.Why))
}

func (v *eventView) write(w io.Writer) error {
	table := output.Table{}
	table.Add("event", plain(v.ID))
	table.Add("state", v.stateText())
	v.attributes(&table)
	if v.Operation != "" {
		held := "was held under"
		if v.event.State == events.Held {
			held = "held under"
		}
		table.Add(held, fmt.Sprintf("operation %s generation %d", v.Operation, v.Generation))
	}
	table.Add("payload", v.payloadText())
	table.Add("position", fmt.Sprintf("lane %d seq %s", v.Lane, v.Seq))
	table.Add("staged", plain(v.StagedAt))
	if len(v.Batches) == events.MostBatches {
		table.Add("settled", "in one of "+v.batchesText()+", of which these are the first")
	}
	for _, b := range v.Batches {
		name := "settled"
		if len(v.Batches) > 1 {
			name = "perhaps settled"
		}
		table.Add(name, b.SettledAt+", "+b.text())
	}
	if v.Retention != nil {
		table.Add("kept", v.Retention.text())
	} else {
		table.Add("kept", "the log has forgotten it")
	}
	if err := table.Write(w); err != nil {
		return err
	}
	if !v.withData {
		return nil
	}
	_, err := fmt.Fprintf(w, "\n%s\n", v.Data)
	return err
}

func (v *eventView) payloadText() string {
	text := fmt.Sprintf("%s of %s", output.Count(int64(v.DataBytes), "byte"), plain(v.ContentType))
	switch {
	case !v.withData:
		return text + ", not shown"
	case !utf8.Valid(v.Data):
		return text + ", below, no text"
	}
	return text + ", below"
}

// stateText is the state with what explains it.
func (v *eventView) stateText() string {
	switch {
	case v.DeadLetter != nil:
		return fmt.Sprintf("dead since %s: dead letter %s, %s after %s", v.DeadLetter.DeadAt, v.DeadLetter.ID, v.DeadLetter.Reason,
			output.Count(int64(v.DeadLetter.Attempts), "attempt"))
	case v.Retry != nil:
		return "waiting: " + v.Retry.text()
	case v.WaitsIn != nil:
		owner := ", whose lease is " + v.WaitsIn.leaseText()
		if v.WaitsIn.status.Live {
			owner = " of " + plain(v.WaitsIn.Owner)
		}
		return fmt.Sprintf("waiting in lane %d%s, backlog %s", v.Lane, owner, atLeast(v.WaitsIn.Backlog.Events))
	case v.event.State == events.Held:
		return "held, until its generation is released"
	}
	return v.State
}
