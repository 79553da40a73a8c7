package command

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/relay"
	"github.com/holdfast-dev/holdfast/relay/events"
)

// eventReport is an event as JSON has it: a contract, only ever added to, and without the payload.
type eventReport struct {
	ID          string         `json:"event_id"`
	State       string         `json:"state"`
	Source      string         `json:"source"`
	Type        string         `json:"type"`
	Subject     string         `json:"subject"`
	Time        string         `json:"time"`
	ContentType string         `json:"datacontenttype"`
	DataSchema  string         `json:"dataschema"`
	Key         string         `json:"partitionkey"`
	Extensions  map[string]any `json:"extensions"`
	DataBytes   int32          `json:"data_bytes"`
	Operation   string         `json:"operation"`
	Generation  int32          `json:"generation"`
	StagedAt    string         `json:"staged_at"` // "" when that is forgotten
	Lane        int16          `json:"lane"`
	Seq         string         `json:"seq"`
	Slot        *int16         `json:"slot"` // null when the log has forgotten the event
}

func eventOf(e *events.Event) eventReport {
	r := eventReport{
		ID: e.ID, State: string(e.State), Source: e.Source, Type: e.Type, Subject: e.Subject, Time: optionalTime(e.Time),
		ContentType: e.ContentType, DataSchema: e.DataSchema, Key: e.Key, Extensions: e.Extensions, DataBytes: e.Bytes,
		Operation: e.Operation, Generation: e.Generation, StagedAt: optionalTime(e.StagedAt), Lane: e.Lane, Seq: strconv.FormatInt(e.Seq, 10),
	}
	if e.InLog() {
		r.Slot = &e.Slot
	}
	return r
}

func optionalTime(t *time.Time) string {
	if t == nil {
		return ""
	}
	return output.Time(*t)
}

// attributes adds what the event says of itself to a table, leaving out what it does not have.
func (r *eventReport) attributes(table *output.Table) {
	add := func(name, text string) {
		if text != "" {
			table.Add(name, plain(text))
		}
	}
	add("source", r.Source)
	add("type", r.Type)
	add("subject", r.Subject)
	add("time", r.Time)
	add("key", r.Key)
	add("content type", r.ContentType)
	add("schema", r.DataSchema)
	names := make([]string, 0, len(r.Extensions))
	for name := range r.Extensions {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		add("extension "+name, fmt.Sprint(r.Extensions[name]))
	}
}

// eventRetry is how an event waits after a refusal, as JSON has it.
type eventRetry struct {
	Kind      string `json:"kind"` // retry_scheduled or parked
	Attempts  int32  `json:"attempts"`
	Epoch     int32  `json:"requeue_epoch"`
	Reason    string `json:"reason"`
	NextAt    string `json:"next_at"`
	UpdatedAt string `json:"updated_at"`
	Behind    string `json:"behind"` // id of the event that it waits for; "" for none
}

func eventRetryOf(r *events.Retry) *eventRetry {
	if r == nil {
		return nil
	}
	return &eventRetry{r.Kind, r.Attempts, r.Epoch, r.Reason, optionalTime(r.NextAt), output.Time(r.UpdatedAt), r.Behind}
}

// text says it to people.
func (r *eventRetry) text() string {
	switch {
	case r.Behind != "":
		return "parked behind event " + plain(r.Behind)
	case r.NextAt == "":
		return "parked behind a dead letter of its key"
	case r.Attempts > 0:
		return fmt.Sprintf("refused %s (%s), tried again at %s", output.Count(int64(r.Attempts), "time"), r.Reason, r.NextAt)
	}
	return "to be tried at " + r.NextAt
}

// batchesText says how many batches may have the event.
func (v *eventView) batchesText() string {
	text := strconv.Itoa(len(v.Batches)) + " batches"
	if len(v.Batches) == events.MostBatches {
		text += " or more"
	}
	return text
}

func eventBatchesOf(list []events.Batch) []laneBatch {
	all := make([]relay.LaneBatch, 0, len(list))
	for _, b := range list {
		all = append(all, relay.LaneBatch(b))
	}
	return laneBatchesOf(all)
}

// text says where the events of a batch are in the stream.
func (b *laneBatch) text() string {
	if b.StreamSeqFirst == b.StreamSeqLast {
		return fmt.Sprintf("stream %s sequence %d", plain(b.Stream), b.StreamSeqFirst)
	}
	return fmt.Sprintf("stream %s between sequences %d and %d, in a batch of %s", plain(b.Stream), b.StreamSeqFirst, b.StreamSeqLast,
		output.Count(int64(b.Events), "event"))
}
