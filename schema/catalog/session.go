package catalog

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// DB is what reading needs: a pool, a connection or a transaction of pgx. In a transaction
// it uses a savepoint, and takes back every setting that it changed.
type DB interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}

// session is a transaction, or what is behind a savepoint of the caller's, that nothing is
// left of when it ends.
type session struct {
	conn *pgx.Conn
	end  func(context.Context)
}

// reading is one snapshot, and the promise to change nothing.
var reading = pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}

// begin begins a session. The options count unless the caller is in a transaction already.
func begin(ctx context.Context, db DB, options pgx.TxOptions) (*session, error) {
	if conn, is := db.(*pgx.Conn); is && conn.PgConn().TxStatus() != 'I' {
		return savepoint(ctx, conn)
	}
	type beginner interface {
		BeginTx(ctx context.Context, options pgx.TxOptions) (pgx.Tx, error)
	}
	start := db.Begin
	if whole, is := db.(beginner); is {
		start = func(ctx context.Context) (pgx.Tx, error) { return whole.BeginTx(ctx, options) }
	}
	tx, err := start(ctx)
	if err != nil {
		return nil, err
	}
	// An error means that the connection is gone, and the transaction with it.
	return &session{conn: tx.Conn(), end: func(ctx context.Context) { _ = tx.Rollback(ctx) }}, nil
}

// savepoint begins a session on a connection in a transaction that was begun by hand, which a
// rollback of ours would end.
func savepoint(ctx context.Context, conn *pgx.Conn) (*session, error) {
	if _, err := conn.Exec(ctx, "SAVEPOINT holdfast_catalog"); err != nil {
		return nil, err
	}
	return &session{conn: conn, end: func(ctx context.Context) {
		// An error means that the connection is gone, and the transaction with it.
		_, _ = conn.Exec(ctx, "ROLLBACK TO SAVEPOINT holdfast_catalog")
		_, _ = conn.Exec(ctx, "RELEASE SAVEPOINT holdfast_catalog")
	}}, nil
}
