package lazytx

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Tx is a [pgx.Tx] that begins with its first statement. Not safe for concurrent use.
type Tx struct {
	ctx      context.Context // of what begins in Conn and LargeObjects, which take none
	conn     *pgx.Conn
	options  pgx.TxOptions
	tx       pgx.Tx // nil while it waits; closed when it did not begin
	beginErr error
}

// New returns a transaction on a connection that is in none. It sends nothing.
func New(ctx context.Context, conn *pgx.Conn, options pgx.TxOptions) *Tx {
	return &Tx{ctx: ctx, conn: conn, options: options}
}

// Waits reports whether nothing was sent yet.
func (t *Tx) Waits() bool { return t.tx == nil }

// BeginError returns why the transaction did not begin, and nil when it did or was not asked to, or when its time
// was over while the begin and the first statement were on their way: the statement may have waited for a lock.
func (t *Tx) BeginError() error { return t.beginErr }

// begun begins, unless that was done, and returns the transaction.
func (t *Tx) begun(ctx context.Context) pgx.Tx {
	if !t.Waits() {
		return t.tx
	}
	tx, err := t.conn.BeginTx(ctx, t.options)
	if err != nil {
		t.fail(ctx, err)
		return t.tx
	}
	t.tx = tx
	return tx
}

// fail keeps every later statement from the database.
func (t *Tx) fail(ctx context.Context, err error) {
	t.beginErr, t.tx = err, closedTx()
	_ = t.conn.Close(ctx) // why it does not begin is the error that counts
}

// closedTx is a transaction that answers everything with [pgx.ErrTxClosed].
func closedTx() pgx.Tx {
	batch := &pgx.Batch{}
	batch.BeginTx(pgx.TxOptions{})
	return pgx.FailedBatchResults(batch, pgx.ErrTxClosed).Tx()
}

// Commit commits. When nothing was sent, nothing is.
func (t *Tx) Commit(ctx context.Context) error { return t.end(ctx, pgx.Tx.Commit) }

// Rollback rolls back. When nothing was sent, nothing is.
func (t *Tx) Rollback(ctx context.Context) error { return t.end(ctx, pgx.Tx.Rollback) }

func (t *Tx) end(ctx context.Context, how func(pgx.Tx, context.Context) error) error {
	if t.Waits() {
		t.tx = closedTx()
		return nil
	}
	return how(t.tx, ctx)
}

// Conn begins and returns the connection, which is closed when that failed.
func (t *Tx) Conn() *pgx.Conn {
	t.begun(t.ctx)
	return t.conn
}

// LargeObjects begins and returns the large objects of the transaction.
func (t *Tx) LargeObjects() pgx.LargeObjects { return t.begun(t.ctx).LargeObjects() }

// Begin begins a savepoint.
func (t *Tx) Begin(ctx context.Context) (pgx.Tx, error) { return t.begun(ctx).Begin(ctx) }

// Exec executes a statement.
func (t *Tx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	return t.begun(ctx).Exec(ctx, sql, args...)
}

// QueryRow asks for one row.
func (t *Tx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return t.begun(ctx).QueryRow(ctx, sql, args...)
}

// Query asks for rows.
func (t *Tx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return t.begun(ctx).Query(ctx, sql, args...)
}

// SendBatch sends several statements.
func (t *Tx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	return t.begun(ctx).SendBatch(ctx, b)
}

// CopyFrom copies rows into a table.
func (t *Tx) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
	return t.begun(ctx).CopyFrom(ctx, table, columns, rows)
}

// Prepare prepares a statement.
func (t *Tx) Prepare(ctx context.Context, name, sql string) (*pgconn.StatementDescription, error) {
	return t.begun(ctx).Prepare(ctx, name, sql)
}
