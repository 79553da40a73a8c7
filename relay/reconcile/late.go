package reconcile

import (
	"context"
	"fmt"
	"sort"

	"github.com/jackc/pgx/v5"
)

// suspect is an event that stands behind later ones of its key.
type suspect struct {
	place
	covered bool // a batch had it so far
	late    bool // it was published on its own, after that
}

// suspects are those of one lane, by their numbers. A batch has the ones between its first number and
// its last; each is covered once, so that all batches together cost one look at each of them.
type suspects struct {
	list []suspect
	next []int // the first at this place or after it that no batch has had; a union-find forest
}

func newSuspects(list []suspect) *suspects {
	sort.Slice(list, func(i, j int) bool { return list[i].seq < list[j].seq })
	s := &suspects{list: list, next: make([]int, len(list)+1)}
	for i := range s.next {
		s.next[i] = i
	}
	return s
}

// uncovered returns the first place from i on that no batch has had.
func (s *suspects) uncovered(i int) int {
	for s.next[i] != i {
		s.next[i] = s.next[s.next[i]]
		i = s.next[i]
	}
	return i
}

func (s *suspects) find(seq int64) int {
	return sort.Search(len(s.list), func(i int) bool { return s.list[i].seq >= seq })
}

// settled takes a batch. Batches come in the order in which they were settled.
func (s *suspects) settled(events int, first, last, stream int64) {
	i := s.find(first)
	if events == 1 && first == last && i < len(s.list) {
		if e := &s.list[i]; e.seq == first && int64(e.stream) == stream && e.covered {
			e.late = true
		}
	}
	for i = s.uncovered(i); i < len(s.list) && s.list[i].seq <= last; i = s.uncovered(i) {
		s.list[i].covered = true
		s.next[i] = i + 1
	}
}

// requeuedChunk is how many events are looked up among the dead letters at a time.
const requeuedChunk = 1000

// judgeDisorder tells events that were published on their own, after the batch that they had their
// place in or after they had been dead letters, from those that a relay put into the wrong order.
func (r *run) judgeDisorder(ctx context.Context) error {
	if len(r.disorder) == 0 {
		return nil
	}
	byLane := map[int16][]suspect{}
	for _, p := range r.disorder {
		byLane[p.lane] = append(byLane[p.lane], suspect{place: p})
	}
	lanes := map[int16]*suspects{}
	var numbers []int16
	for lane, list := range byLane {
		lanes[lane] = newSuspects(list)
		numbers = append(numbers, lane)
	}
	if err := r.readBatches(ctx, numbers, lanes); err != nil {
		return fmt.Errorf("look at late events: %w", err)
	}
	for _, s := range lanes {
		if err := r.judgeSuspects(ctx, s.list); err != nil {
			return fmt.Errorf("look at late events: %w", err)
		}
	}
	return nil
}

func (r *run) readBatches(ctx context.Context, numbers []int16, lanes map[int16]*suspects) error {
	rows, err := r.tx.Query(ctx, r.sql["batches"], r.cfg.Relay.Group, r.cfg.Relay.Stream, numbers)
	if err != nil {
		return err
	}
	var lane int16
	var events int
	var first, last, stream int64
	_, err = pgx.ForEachRow(rows, []any{&lane, &events, &first, &last, &stream}, func() error {
		lanes[lane].settled(events, first, last, stream)
		return nil
	})
	return err
}

// judgeSuspects notes what became of the events of one lane.
func (r *run) judgeSuspects(ctx context.Context, list []suspect) error {
	for len(list) > 0 {
		chunk := list[:min(requeuedChunk, len(list))]
		list = list[len(chunk):]
		places := make([]place, len(chunk))
		for i := range chunk {
			places[i] = chunk[i].place
		}
		lanes, seqs, _ := columns(places)
		rows, err := r.tx.Query(ctx, r.sql["requeued"], r.cfg.Relay.Group, lanes, seqs)
		if err != nil {
			return err
		}
		var at int
		if _, err := pgx.ForEachRow(rows, []any{&at}, func() error { chunk[at-1].late = true; return nil }); err != nil {
			return err
		}
		for _, e := range chunk {
			class := Disordered
			if e.late {
				class = Late
			}
			r.report.note(r.cfg.Examples, Example{Class: class, Lane: e.lane, Seq: e.seq, StreamSeq: e.stream})
		}
	}
	return nil
}
