package main

import (
	"context"
	"errors"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/e2e/history"
)

// register opens a generation, and tries until it knows. It returns false when ctx ends first.
func (p *producer) register(ctx context.Context, g history.Generation) bool {
	for ctx.Err() == nil {
		_, result, err := p.commit(func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "SELECT outbox.hold_register($1, $2, 'chaos')", g.Operation, g.Number)
			return err
		})
		if result == history.OK {
			return true
		}
		if refused(err) {
			return false
		}
		p.pause(ctx, meanStep)
	}
	return false
}

// decide releases or drops a generation, and tries until it knows: to repeat the call is
// harmless. When ctx ends first the generation is left open, as far as anybody knows.
func (p *producer) decide(ctx context.Context, g history.Generation, release bool) {
	function := "hold_cancel"
	if release {
		function = "hold_release"
	}
	for ctx.Err() == nil {
		begin, result, err := p.commit(func(ctx context.Context, tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "SELECT outbox."+function+"($1, $2, 'chaos')", g.Operation, g.Number); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, writeDecisionSQL, g.Operation, g.Number, release)
			return err
		})
		p.record.Decision(history.Decision{Actor: "producer", Begin: begin, Outcome: result, Generation: g, Release: release})
		if result == history.OK || refused(err) {
			return
		}
		p.pause(ctx, meanStep)
	}
	p.leaveOpen(g)
}

// decideTwice releases and drops a generation at the same time. One of them must lose.
func (p *producer) decideTwice(ctx context.Context, g history.Generation) {
	other := p.load.producer(producers+1, p.rng.Int()&0xffffff)
	var both sync.WaitGroup
	both.Go(func() { other.decide(ctx, g, false) })
	p.decide(ctx, g, true)
	both.Wait()
}

// refused says whether the outbox itself said no: there is nothing to repeat.
func refused(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && len(pg.Code) == 5 && pg.Code[:2] == "HF"
}
