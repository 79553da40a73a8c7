package lazytx

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// First asks for one row in a transaction, by a statement that is known to be sound: the number of its arguments is
// right. A [*Tx] that has sent nothing takes its begin along. Arguments are text, which can always be encoded: pgx
// closes the connection of a batch that it cannot write.
func First(ctx context.Context, tx pgx.Tx, sql string, args ...string) pgx.Row {
	values := make([]any, len(args))
	for i, a := range args {
		values[i] = a
	}
	if t, ok := tx.(*Tx); ok && t.Waits() {
		return t.open(ctx, sql, values)
	}
	return tx.QueryRow(ctx, sql, values...)
}

// openingRow is the answer of the first query, which was sent with the begin.
type openingRow struct {
	t       *Tx
	ctx     context.Context
	sql     string
	args    []any
	results pgx.BatchResults
}

func (t *Tx) open(ctx context.Context, sql string, args []any) pgx.Row {
	batch := &pgx.Batch{}
	batch.BeginTx(t.options)
	batch.Queue(sql, args...)
	results := t.conn.SendBatch(ctx, batch)
	t.tx = results.Tx() // busy until the row is read
	return &openingRow{t: t, ctx: ctx, sql: sql, args: args, results: results}
}

// Scan reads the row. The errors are those of [pgx.Row], and the one of the begin.
func (r *openingRow) Scan(dest ...any) error {
	_, beginErr := r.results.Exec()
	err := beginErr
	if err == nil {
		err = r.results.QueryRow().Scan(dest...)
	}
	if closeErr := r.results.Close(); err == nil {
		err = closeErr
	}
	switch {
	case beginErr == nil:
		return err
	case r.ctx.Err() != nil:
		r.t.tx = closedTx() // the time was over: nobody knows for which of the two
		_ = r.t.conn.Close(r.ctx)
		return beginErr
	case r.t.conn.IsClosed():
		r.t.fail(r.ctx, beginErr)
		return beginErr
	}
	// Nothing ran. If the query cannot be prepared, it is the query that fails, in a transaction that has begun.
	r.t.tx = nil
	tx := r.t.begun(r.ctx)
	if r.t.beginErr != nil {
		return r.t.beginErr
	}
	return tx.QueryRow(r.ctx, r.sql, r.args...).Scan(dest...)
}
