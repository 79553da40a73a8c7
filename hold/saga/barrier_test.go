package saga_test

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold/saga"
)

// barrier stops a transaction before its end.
type barrier struct {
	reached chan struct{} // receives when the transaction is about to commit
	leave   chan struct{} // closed by the test
}

func newBarrier() *barrier {
	return &barrier{reached: make(chan struct{}, 1), leave: make(chan struct{})}
}

// barrierDB opens transactions that wait at the barrier before they commit, or roll back instead.
type barrierDB struct {
	saga.Beginner
	*barrier
	commits bool
}

func (b barrierDB) BeginTx(ctx context.Context, options pgx.TxOptions) (pgx.Tx, error) {
	tx, err := b.Beginner.BeginTx(ctx, options)
	return barrierTx{tx, b}, err
}

type barrierTx struct {
	pgx.Tx
	b barrierDB
}

func (tx barrierTx) Commit(ctx context.Context) error {
	tx.b.reached <- struct{}{}
	<-tx.b.leave
	if tx.b.commits {
		return tx.Tx.Commit(ctx)
	}
	if err := tx.Tx.Rollback(ctx); err != nil {
		return err
	}
	return errDied
}

func anySubject(context.Context, pgx.Tx) (bool, error) { return true, nil }

func failing(context.Context, pgx.Tx) (bool, error) { return false, errDied }
