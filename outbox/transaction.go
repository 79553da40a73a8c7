package outbox

import (
	"context"
	"database/sql"
	"fmt"
	"reflect"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// PgxTx is what staging needs of a pgx transaction: a [pgx.Tx] of any kind, nested ones
// (savepoints) and those of a pool included.
type PgxTx interface {
	Exec(ctx context.Context, sql string, arguments ...any) (pgconn.CommandTag, error)
}

// SQLTx is what staging needs of a database/sql transaction. *sql.Tx has it, and so
// have *sqlx.Tx and bun.Tx, which embed one, the transaction of an ent client with the
// feature sql/execquery, and, within a GORM transaction, db.Statement.ConnPool. Any
// driver for Postgres will do that understands the placeholders $1, $2.
type SQLTx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// target is a transaction of either kind.
type target interface {
	transaction() any
	exec(ctx context.Context, p *Publisher, hold *Hold, c columns) error
}

type pgxTarget struct{ tx PgxTx }

func (t pgxTarget) transaction() any { return t.tx }

func (t pgxTarget) exec(ctx context.Context, p *Publisher, hold *Hold, c columns) error {
	statement, args := p.publish, c.arrays()
	if hold != nil {
		statement = p.publishHeld
		args = append([]any{hold.Operation.String(), int32(hold.Generation)}, args...)
	}
	_, err := t.tx.Exec(ctx, statement, args...)
	return err
}

type sqlTarget struct{ tx SQLTx }

func (t sqlTarget) transaction() any { return t.tx }

func (t sqlTarget) exec(ctx context.Context, p *Publisher, hold *Hold, c columns) error {
	args, err := c.literals()
	if err != nil {
		return err
	}
	statement := p.publishText
	if hold != nil {
		statement = p.publishHeldText
		args = append([]any{hold.Operation.String(), fmt.Sprint(hold.Generation)}, args...)
	}
	_, err = t.tx.ExecContext(ctx, statement, args...)
	return err
}

// checkTransaction refuses what is obviously not a transaction: staging into a pool
// would commit the events alone, before the business rows or without them. What begins
// transactions and cannot commit is a pool or a connection. A pgx connection may be in
// a transaction that was begun by hand, and knows it.
func checkTransaction(tx any) error {
	v := reflect.ValueOf(tx)
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return notTransaction("nil")
	}
	if !v.MethodByName("BeginTx").IsValid() || v.MethodByName("Commit").IsValid() {
		return nil
	}
	if conn := connOf(tx); conn != nil && conn.TxStatus() != 'I' {
		return nil
	}
	return notTransaction(fmt.Sprintf("a %T", tx))
}

// connOf returns the connection that a *pgx.Conn or a *pgxpool.Conn is, or nil.
func connOf(tx any) *pgconn.PgConn {
	if pooled, ok := tx.(interface{ Conn() *pgx.Conn }); ok {
		tx = pooled.Conn()
	}
	if conn, ok := tx.(interface{ PgConn() *pgconn.PgConn }); ok {
		return conn.PgConn()
	}
	return nil
}

func notTransaction(what string) error {
	return &hinted{
		err:  fmt.Errorf("%w: got %s", ErrNotTransaction, what),
		hint: "Begin a transaction, write the business rows and publish in it, then commit: pgx.BeginFunc does so, and (*sql.DB).BeginTx.",
	}
}
