package events

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Fate is what became of an event, as far as it is recorded.
type Fate struct {
	Retry *Retry // nil unless the event waits for one
	// Batches are the settled batches that may have the event, oldest first. Only a single one is
	// known to have it; several have ranges that overlap, as when transactions overlapped. They are the first
	// [MostBatches] at most.
	Batches []Batch
}

// MostBatches is how many batches a Fate has at most; batches.sql says the same.
const MostBatches = 100

// Retry is how an event waits after it, or an earlier one of its key, was refused.
type Retry struct {
	Kind      string // retry_scheduled or parked
	Attempts  int32  // failed ones
	Epoch     int32  // how often the event was requeued
	NextAt    *time.Time
	UpdatedAt time.Time
	Reason    string // code of the last refusal; "" when there was none
	Behind    string // id of the first event of its key that waits; "" when it waits for none
}

// Batch is a settled batch.
type Batch struct {
	SettledAt      time.Time
	Events         int32
	SeqFirst       int64
	SeqLast        int64
	Stream         string
	StreamSeqFirst int64
	StreamSeqLast  int64
}

// alone reports whether the batch is one event's: a retry or a repair wrote it.
func (b *Batch) alone() bool { return b.SeqFirst == b.SeqLast }

// Fate reads what became of an event. refused says that the event was a dead letter once: then a batch of
// several events is not the one that has it.
func (r *Reader) Fate(ctx context.Context, e *Event, refused bool) (*Fate, error) {
	fate := &Fate{}
	retries, err := collect(ctx, r, "retry", pgx.RowToStructByPos[Retry], e.Lane, e.Seq)
	if err != nil {
		return nil, fmt.Errorf("read the retry of event %s: %w", e.ID, err)
	}
	if len(retries) > 0 {
		fate.Retry = &retries[0]
	}
	if e.State == Held {
		return fate, nil // its number is not its position, and is given a new one
	}
	batches, err := collect(ctx, r, "batches", pgx.RowToStructByPos[Batch], e.Lane, e.Seq)
	if err != nil {
		return nil, fmt.Errorf("read the batches of event %s: %w", e.ID, err)
	}
	fate.Batches = choose(batches, e.State == Published && !refused)
	return fate, nil
}

// choose returns the batches that are an event's alone if there are any, else all when the event
// went the usual way.
func choose(batches []Batch, usual bool) []Batch {
	var own []Batch
	for _, b := range batches {
		if b.alone() {
			own = append(own, b)
		}
	}
	if len(own) > 0 || !usual {
		return own
	}
	return batches
}
