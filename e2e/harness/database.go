package harness

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const sqlstateInUse = "55006" // object_in_use: someone is connected to the template

// CreateDatabase makes a database, as a copy of template or, when that is
// empty, without anything in it. It waits for other users of the template to
// leave until ctx ends.
func (p *Postgres) CreateDatabase(ctx context.Context, name, template string) error {
	if template == "" {
		template = "template0"
	}
	p.creating.Lock()
	defer p.creating.Unlock()
	conn, err := p.connect(ctx, "postgres")
	if err != nil {
		return fmt.Errorf("create database %s: %w", name, err)
	}
	statement := "create database " + pgx.Identifier{name}.Sanitize() +
		" template " + pgx.Identifier{template}.Sanitize() + p.strategy(conn)
	for {
		_, err = conn.Exec(ctx, statement)
		if sqlstate(err) != sqlstateInUse || pause(ctx) != nil {
			break
		}
	}
	if err := errors.Join(err, conn.Close(ctx)); err != nil {
		return fmt.Errorf("create database %s: %w", name, err)
	}
	return nil
}

// DropDatabase disconnects all users of a database and removes it. A database
// that doesn't exist is no error.
func (p *Postgres) DropDatabase(ctx context.Context, name string) error {
	conn, err := p.connect(ctx, "postgres")
	if err != nil {
		return fmt.Errorf("drop database %s: %w", name, err)
	}
	err = disconnect(ctx, conn, name)
	if err == nil {
		_, err = conn.Exec(ctx, "drop database if exists "+pgx.Identifier{name}.Sanitize()+" with (force)")
	}
	if err := errors.Join(err, conn.Close(ctx)); err != nil {
		return fmt.Errorf("drop database %s: %w", name, err)
	}
	return nil
}

// disconnect ends the other users of a database and waits for them to leave.
// DROP DATABASE does so too, but sleeps for 100 ms whenever it meets one, also
// one that is leaving because its client has just closed the connection.
func disconnect(ctx context.Context, conn *pgx.Conn, name string) error {
	for {
		tag, err := conn.Exec(ctx, "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", name)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// strategy chooses to copy files: without fsync that is somewhat quicker than
// the server's default, which writes the copy to the WAL. With fsync its two
// checkpoints cost too much, and before Postgres 15 there is no choice.
func (p *Postgres) strategy(conn *pgx.Conn) string {
	version, _, _ := strings.Cut(conn.PgConn().ParameterStatus("server_version"), ".")
	if major, err := strconv.Atoi(version); err != nil || major < 15 || p.opts.Durable {
		return ""
	}
	return " strategy file_copy"
}

func sqlstate(err error) string {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return pgErr.Code
	}
	return ""
}
