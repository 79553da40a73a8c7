package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/e2e/history"
	"github.com/holdfast-dev/holdfast/outbox"
)

// meanWork is the mean pause inside a transaction; some take much longer.
const (
	meanWork = 4 * time.Millisecond
	longWork = time.Second
)

// transaction stages events of a few keys, and commits or rolls back.
func (p *producer) transaction() {
	var staged, undone []history.Event
	begin, result, _ := p.commit(func(ctx context.Context, tx pgx.Tx) error {
		if p.rng.IntN(3) == 0 { // an id that is older than what it writes
			if _, err := tx.Exec(ctx, "SELECT pg_current_xact_id()"); err != nil {
				return err
			}
			p.work(ctx)
		}
		key := p.rng.IntN(keys)
		for range 1 + p.rng.IntN(2) {
			events, err := p.advance(ctx, tx, key, p.size())
			staged = append(staged, events...)
			if err != nil {
				return err
			}
			p.work(ctx)
			key += 1 + p.rng.IntN(keys) // rising, so that two transactions never wait for each other
		}
		if p.rng.IntN(12) == 0 {
			events, err := p.hesitate(ctx, tx, key)
			undone = append(undone, events...)
			if err != nil {
				return err
			}
		}
		if p.rng.IntN(6) == 0 {
			return errChangedMind
		}
		return nil
	})
	p.stage(begin, result, history.Generation{}, staged)
	p.stage(begin, history.Failed, history.Generation{}, undone)
}

// size is how many events are staged at once: few, and now and then a backlog.
func (p *producer) size() int {
	if p.rng.IntN(300) == 0 {
		return 400
	}
	return 1 + p.rng.IntN(3)
}

// work is what the transaction does besides.
func (p *producer) work(ctx context.Context) {
	if p.rng.IntN(150) == 0 {
		p.pause(ctx, longWork)
		return
	}
	p.pause(ctx, meanWork)
}

// advance stages n events of a key with its next versions.
func (p *producer) advance(ctx context.Context, tx pgx.Tx, key, n int) ([]history.Event, error) {
	name := fmt.Sprintf("key-%02d", key)
	var version int
	if err := tx.QueryRow(ctx, advanceKeySQL, name, n).Scan(&version); err != nil {
		return nil, err
	}
	events, staged := p.events(name, version-n+1, n)
	if _, err := outbox.PublishTx(ctx, tx, staged...); err != nil {
		return events, err
	}
	return events, p.writeLedger(ctx, tx, events)
}

// hesitate stages an event and rolls back to a savepoint.
func (p *producer) hesitate(ctx context.Context, tx pgx.Tx, key int) (undone []history.Event, err error) {
	err = pgx.BeginFunc(ctx, tx, func(savepoint pgx.Tx) error {
		events, err := p.advance(ctx, savepoint, key, 1)
		undone = events
		if err == nil {
			err = errChangedMind
		}
		return err
	})
	if errors.Is(err, errChangedMind) {
		err = nil
	}
	return undone, err
}

func (p *producer) writeLedger(ctx context.Context, tx pgx.Tx, events []history.Event) error {
	ids := make([]string, len(events))
	for i, e := range events {
		ids[i] = e.ID
	}
	_, err := tx.Exec(ctx, writeLedgerSQL, eventSource, ids)
	return err
}

// events makes n events of a key, as the record has them and as they are staged.
func (p *producer) events(key string, version, n int) ([]history.Event, []event.Event) {
	record := make([]history.Event, n)
	staged := make([]event.Event, n)
	for i := range n {
		body := p.payload()
		record[i] = history.Event{
			Name: history.Name{Source: eventSource, ID: p.newID().String()}, Type: eventType,
			Key: key, Version: version + i, Digest: sha256.Sum256(body),
		}
		e := event.New()
		e.SetID(record[i].ID)
		e.SetSource(eventSource)
		e.SetType(eventType)
		e.SetExtension("partitionkey", key)
		e.SetExtension("version", version+i)
		e.SetDataContentType("application/octet-stream")
		e.DataEncoded = body
		staged[i] = e
	}
	return record, staged
}

// payload makes bytes of any kind. Each holds the mark by which a leak would be seen.
func (p *producer) payload() []byte {
	size := p.rng.IntN(600)
	if p.rng.IntN(200) == 0 {
		size = 50_000 + p.rng.IntN(150_000)
	}
	body := append(make([]byte, 0, len(payloadMark)+size), payloadMark...)
	for range size {
		body = append(body, byte(p.rng.Uint32()))
	}
	return body
}

// operation holds events in some transactions, and has them released or dropped, or leaves
// them. What was dropped may be tried again, as another generation.
func (p *producer) operation(ctx context.Context) {
	g := history.Generation{Operation: p.newID().String(), Number: 1}
	version := 1
	for {
		if !p.register(ctx, g) {
			return
		}
		for range 1 + p.rng.IntN(3) {
			version = p.hold(g, version)
		}
		switch dice := p.rng.IntN(10); {
		case dice < 4:
			p.decide(ctx, g, true)
			return
		case dice < 7:
			p.decide(ctx, g, false)
		case dice < 9:
			p.decideTwice(ctx, g)
			return
		default:
			p.leaveOpen(g)
			return
		}
		if p.rng.IntN(2) == 0 {
			return
		}
		g.Number++
	}
}

// hold stages held events in one transaction, and returns the version to go on with.
func (p *producer) hold(g history.Generation, version int) int {
	n := 1 + p.rng.IntN(4)
	record, staged := p.events("operation-"+g.Operation, version, n)
	changesMind := p.rng.IntN(5) == 0
	begin, result, _ := p.commit(func(ctx context.Context, tx pgx.Tx) error {
		held := outbox.Hold{Operation: uuid.MustParse(g.Operation), Generation: g.Number}
		if _, err := outbox.PublishTxHeld(ctx, tx, held, staged...); err != nil {
			return err
		}
		if err := p.writeLedger(ctx, tx, record); err != nil {
			return err
		}
		p.work(ctx)
		if changesMind {
			return errChangedMind
		}
		return nil
	})
	p.stage(begin, result, g, record)
	return version + n
}
