package command

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/outbox"
)

func eventTraceCommand(p Process) *cobra.Command {
	c := verbWithArgs(&cobra.Command{
		Use:   "trace ID",
		Short: "Tell the history of an event, in the order of time",
		Long: effects("nothing.", "shows a payload, or asks the broker: relay reconcile compares the stream with the log.") +
			"\n\nID is that of the event. The history is what the database recorded: staged, held, released or dropped, settled and in\n" +
			"which batch, refused, given up, and what people decided. A replay leaves no record. There is no index on ids, so it\n" +
			"reads the whole log. Exit status 3 if nothing is known of the id.",
		Example: "  relay event trace order-17",
	}, 1, 1)
	open := eventFlags(c, p)
	format := outputFlag(c, output.Text, output.JSON)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		l, err := open(cmd.Context())
		if err != nil {
			return err
		}
		defer l.pool.Close()
		traces, err := l.traces(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if len(traces) == 0 {
			return exit.Errorf(exit.NotFound, "nothing is known of an event %s in %s", plain(args[0]), l.database).
				WithHint("it was never committed, was cancelled while held, or its slot was emptied and its records were pruned")
		}
		return writeEach(cmd.OutOrStdout(), format.Format(), traces, (*eventTrace).write)
	}
	return c
}

// eventTrace is the history of an event, as JSON has it: a contract, only ever added to.
type eventTrace struct {
	ID     string      `json:"event_id"`
	Source string      `json:"source"` // "" when that is forgotten
	State  string      `json:"state"`  // dropped when it was dropped while it was held
	Lane   int16       `json:"lane"`
	Seq    string      `json:"seq"`
	Steps  []eventStep `json:"history"`
	// Incomplete says what this login may not read, or "".
	Incomplete string `json:"incomplete"`
}

// eventStep is one line of it.
type eventStep struct {
	At     string `json:"at"`
	Step   string `json:"step"`
	Detail string `json:"detail"`
	Actor  string `json:"actor"`  // "" when no person did it
	Reason string `json:"reason"` // the same

	when time.Time
}

// traces tells the history of every event with an id.
func (l *eventLog) traces(ctx context.Context, id string) ([]*eventTrace, error) {
	views, err := l.views(ctx, id)
	if err != nil {
		return nil, err
	}
	if len(views) == 0 {
		return l.dropped(ctx, id)
	}
	var traces []*eventTrace
	for _, v := range views {
		t := &eventTrace{ID: v.ID, Source: v.Source, State: v.State, Lane: v.Lane, Seq: v.Seq, Steps: v.steps()}
		if v.Operation != "" {
			operation, err := uuid.Parse(v.Operation)
			if err != nil {
				return nil, fmt.Errorf("read event %s: %w", id, err)
			}
			acts, why, err := l.decisions(ctx, id, outbox.Hold{Operation: operation, Generation: int(v.Generation)})
			if err != nil {
				return nil, err
			}
			t.Steps, t.Incomplete = append(t.Steps, acts...), why
		}
		slices.SortStableFunc(t.Steps, func(a, b eventStep) int { return a.when.Compare(b.when) })
		traces = append(traces, t)
	}
	return traces, nil
}

// dropped tells of an event that was dropped alone while it was held, of which only the audit is left.
func (l *eventLog) dropped(ctx context.Context, id string) ([]*eventTrace, error) {
	steps, why, err := l.decisions(ctx, id, outbox.Hold{})
	if err == nil && why != "" {
		err = exit.Errorf(exit.Denied, "the log does not have an event %s, and if it was dropped while it was held, the audit of holds knows, which this login may not read", plain(id)).
			WithHint("log in as operator or auditor")
	}
	if err != nil || len(steps) == 0 {
		return nil, err
	}
	return []*eventTrace{{ID: id, State: "dropped", Lane: -1, Steps: steps}}, nil
}

// decisions are those about a generation and about an event of it. Where there are no holds there are none;
// why says that this login may not read them.
func (l *eventLog) decisions(ctx context.Context, id string, h outbox.Hold) (steps []eventStep, why string, err error) {
	store, err := hold.New(hold.Config{Schema: l.schema})
	if err != nil {
		return nil, "", err
	}
	acts, err := store.EventHistory(ctx, l.pool, id, h)
	switch sqlState(err) {
	case "42P01": // the component is not installed
		return nil, "", nil
	case "42501":
		return nil, "who decided about the hold, which this login may not read: the roles operator and auditor may", nil
	}
	if err != nil {
		return nil, "", err
	}
	for _, a := range acts {
		steps = append(steps, eventStep{
			Step: decided(a.Action), Detail: fmt.Sprintf("operation %s generation %d, %s", a.Hold.Operation, a.Hold.Generation, output.Count(a.Events, "event")),
			Actor: a.Actor, Reason: a.Reason, At: output.Time(a.At), when: a.At,
		})
	}
	return steps, "", nil
}

// decided is what an action has made of an event.
func decided(action string) string {
	switch action {
	case "release":
		return "released"
	case "cancel":
		return "cancelled"
	case "expire":
		return "expired"
	}
	return "dropped"
}

// steps are those that the outbox and the relay recorded.
func (v *eventView) steps() []eventStep {
	var steps []eventStep
	add := func(at time.Time, step, detail, actor, reason string) {
		steps = append(steps, eventStep{At: output.Time(at), Step: step, Detail: detail, Actor: actor, Reason: reason, when: at})
	}
	if v.event.StagedAt != nil {
		detail := fmt.Sprintf("lane %d seq %s", v.Lane, v.Seq)
		if v.Operation != "" {
			detail = fmt.Sprintf("held under operation %s generation %d", v.Operation, v.Generation)
		}
		add(*v.event.StagedAt, "staged", detail, "", "")
	}
	for i, b := range v.fate.Batches {
		detail := v.Batches[i].text()
		if len(v.Batches) > 1 {
			detail = fmt.Sprintf("here, or in another of %s: %s", v.batchesText(), detail)
		}
		add(b.SettledAt, "settled", detail, "", "")
	}
	for _, a := range v.acts {
		add(a.At, a.Action, fmt.Sprintf("dead letter %d after %s", a.DeadLetterID, output.Count(int64(a.Attempts), "attempt")), a.Actor, a.Reason)
	}
	if r := v.fate.Retry; r != nil {
		add(r.UpdatedAt, strings.ReplaceAll(r.Kind, "_", "-"), v.Retry.text(), "", "")
	}
	return steps
}

func (t *eventTrace) write(w io.Writer) error {
	head := output.Table{}
	head.Add("event", plain(t.ID))
	if t.Source != "" {
		head.Add("source", plain(t.Source))
	}
	head.Add("state", t.State)
	if t.State != "dropped" {
		head.Add("position", fmt.Sprintf("lane %d seq %s", t.Lane, t.Seq))
	}
	if t.Incomplete != "" {
		head.Add("not shown", t.Incomplete)
	}
	if err := head.Write(w); err != nil {
		return err
	}
	history := output.Table{Heads: []string{"AT", "STEP", "DETAIL", "ACTOR", "REASON"}}
	for _, s := range t.Steps {
		history.Add(s.At, s.Step, s.Detail, plain(s.Actor), plain(s.Reason))
	}
	return writeBelow(w, &history)
}
