package check

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// preparation is what is known of prepared statements behind a pooler.
type preparation int

const (
	notTried preparation = iota
	kept                 // a statement is there, whichever session answers
	lostThem             // it is not
)

// probeTimeout bounds the probe: a pooler that has no further session lets it wait.
const probeTimeout = time.Second

// tryStatements finds out whether a prepared statement outlives a change of the session behind a
// pooler: it prepares one, keeps the session that has it busy, and asks for it again. It
// is done only where the relay would prepare statements.
func (d *database) tryStatements(ctx context.Context, pool *pgxpool.Pool, t Target) error {
	mode := t.Database.ConnConfig.DefaultQueryExecMode
	if !d.pooled || mode != pgx.QueryExecModeCacheStatement && mode != pgx.QueryExecModeDescribeExec {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	// The connections are not used again: a statement may be left on the pooler's side.
	ours, err := pool.Acquire(ctx)
	if err != nil {
		return nil //nolint:nilerr // no room for a probe, which then says nothing
	}
	defer drop(ours)
	d.statements = probe(ctx, ours.Conn(), pool)
	return nil
}

// probeName is a name that nobody else prepares.
const probeName = "holdfast_relay_check_probe"

func probe(ctx context.Context, ours *pgx.Conn, pool *pgxpool.Pool) preparation {
	const who = "SELECT pg_backend_pid()"
	if _, err := ours.PgConn().Prepare(ctx, probeName, who, nil); err != nil {
		return verdict(err)
	}
	ask := func() (pid int, err error) {
		result := ours.PgConn().ExecPrepared(ctx, probeName, nil, nil, []int16{1}).Read()
		if result.Err != nil {
			return 0, result.Err
		}
		if len(result.Rows) != 1 || len(result.Rows[0][0]) != 4 {
			return 0, errors.New("not a process id")
		}
		b := result.Rows[0][0]
		return int(b[0])<<24 | int(b[1])<<16 | int(b[2])<<8 | int(b[3]), nil
	}
	first, err := ask()
	if err != nil {
		return verdict(err)
	}
	// Others take sessions until one of them has the first.
	for range checkConns - 2 {
		other, err := pool.Acquire(ctx)
		if err != nil {
			return notTried
		}
		defer drop(other)
		if _, err := other.Exec(ctx, "BEGIN"); err != nil {
			return notTried
		}
		var pid int
		if err := one(ctx, other, &pid, pgx.RowTo[int], who); err != nil {
			return notTried
		}
		if pid == first {
			_, err := ask()
			return verdict(err)
		}
	}
	// Nobody could take it: every connection has a session of its own.
	if again, err := ask(); err != nil || again != first {
		return verdict(err)
	}
	return kept
}

// verdict reads an answer: a statement that is not there, or is there of somebody else.
func verdict(err error) preparation {
	var pg *pgconn.PgError
	switch {
	case err == nil:
		return kept
	case errors.As(err, &pg) && (pg.Code == "26000" || pg.Code == "42P05"):
		return lostThem
	default:
		return notTried
	}
}

// drop closes a connection instead of giving it back.
func drop(conn *pgxpool.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	_ = conn.Hijack().Close(ctx) // a pooler that went away
}

func poolerFinding(f *facts) Finding {
	if f.db.pooled {
		return ok("a pooler is between here and the server: nothing of the relay needs a session")
	}
	return ok("no pooler is between here and the server")
}

func statementsFinding(f *facts) Finding {
	const mend = "add default_query_exec_mode=exec to the database URL, or let the pooler track prepared statements (pgbouncer 1.21: max_prepared_statements)"
	switch {
	case !f.db.pooled:
		return ok("no pooler loses prepared statements")
	case f.db.statements == lostThem:
		return fail(mend, "the pooler loses prepared statements, and the relay would use them")
	case f.db.statements == kept:
		return ok("the pooler keeps prepared statements")
	}
	if mode := f.t.Database.ConnConfig.DefaultQueryExecMode; mode != pgx.QueryExecModeCacheStatement && mode != pgx.QueryExecModeDescribeExec {
		return ok("the relay prepares no statement: default_query_exec_mode=%s", mode)
	}
	return warn(mend, "the pooler had no further session to try prepared statements with")
}
