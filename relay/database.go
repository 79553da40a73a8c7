package relay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// database runs the statements of the protocol. It keeps no session state, so it works
// through a transaction pooler. Safe for concurrent use.
type database struct {
	pool *pgxpool.Pool
	sql  statements
}

// statementTimeout bounds one statement, so that a server that stopped answering does not
// hold a lane for ever. The longest statement finds the start of a backlog.
const statementTimeout = time.Minute

// with runs sql after the settings of prefix, in one round trip and one implicit
// transaction, and hands the rows to each. The settings end with the statement. It returns
// the incarnation of the server that ran them.
func (d *database) with(ctx context.Context, prefix, sql string, args []any, each func(pgx.Rows) error) (incarnation string, err error) {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	var b pgx.Batch
	b.Queue(prefix)
	b.Queue(sql, args...)
	results := d.pool.SendBatch(ctx, &b)
	defer func() { // also in a panic: the connection goes back
		if closeErr := results.Close(); err == nil {
			err = closeErr
		}
		err = d.checked(err)
	}()
	if incarnation, err = firstColumn(results.Query()); err != nil {
		return incarnation, err
	}
	rows, err := results.Query()
	if err != nil {
		return incarnation, err
	}
	return incarnation, collect(rows, each)
}

func firstColumn(rows pgx.Rows, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (string, error) {
		return string(row.RawValues()[0]), nil
	})
}

// soon bounds a statement that touches only what is new: it answers within a lease, though
// not less than 5 s, or its connection is dead, which nobody else will say.
func (r *Relay) soon(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, min(max(r.cfg.Lease, 5*time.Second), statementTimeout))
}

// errEnough ends the reading of rows early, without an error.
var errEnough = errors.New("enough rows")

func collect(rows pgx.Rows, each func(pgx.Rows) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := each(rows); errors.Is(err, errEnough) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return rows.Err()
}

// checked drops every connection when the server says that it is not the primary any more,
// since they would stay with the old one for ever, and when it did not answer in time:
// the others may be as dead as the one that was asked, and each would take as long.
// Behind a pooler a new connection gets the same session again.
func (d *database) checked(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "25006" {
		d.makeWritable()
		d.pool.Reset()
		return fmt.Errorf("the server is read-only, so it is not the primary: %w", err)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		d.pool.Reset()
	}
	return err
}

// makeWritable undoes what another client of a pooler left in the session that failed, which is the one
// that a pooler gives out next. It is only an attempt: the statement that failed is tried again,
// and says so when it fails again.
func (d *database) makeWritable() {
	ctx, done := context.WithTimeout(context.Background(), time.Second)
	defer done()
	_, _ = d.pool.Exec(ctx, d.sql.writable)
}

// scouted is the answer to a look at idle lanes.
type scouted struct {
	incarnation, snapshot string
	hits                  []int16 // lanes that have candidates in the snapshot
}

func (d *database) scout(ctx context.Context, lanes []int16, drained []string) (s scouted, err error) {
	s.incarnation, err = d.with(ctx, d.sql.session, d.sql.scout, []any{lanes, drained}, func(rows pgx.Rows) error {
		return rows.Scan(&s.snapshot, &s.hits)
	})
	if err != nil {
		return scouted{}, fmt.Errorf("look for events: %w", err)
	}
	return s, nil
}

// renewal is what renew tells the database of the lanes of this pod: parallel slices.
type renewal struct {
	lanes                        []int16
	tokens                       []string
	stored, drained, incarnation []string
	known                        []int64 // a stream sequence before which nothing unsettled can be; 0 says nothing
}

func (d *database) renew(ctx context.Context, cfg Config, m renewal) (kept []int16, pods, lanes int, err error) {
	err = d.pool.QueryRow(ctx, d.sql.renew, cfg.Group, cfg.Owner, cfg.Version, cfg.Lease,
		m.lanes, m.tokens, m.stored, m.drained, m.incarnation, m.known).Scan(&kept, &pods, &lanes)
	if err != nil {
		return nil, 0, 0, fmt.Errorf("renew leases: %w", d.checked(err))
	}
	return kept, pods, lanes, nil
}

func (d *database) free(ctx context.Context, group string) (free bool, err error) {
	if err := d.pool.QueryRow(ctx, d.sql.free, group).Scan(&free); err != nil {
		return false, fmt.Errorf("look for free lanes: %w", d.checked(err))
	}
	return free, nil
}

func (d *database) home(ctx context.Context) (home bool, err error) {
	if err := d.pool.QueryRow(ctx, d.sql.home).Scan(&home); err != nil {
		return false, fmt.Errorf("ask which cluster answers: %w", d.checked(err))
	}
	return home, nil
}

// claimed is a lane as a claim found it.
type claimed struct {
	lane      int16
	token     string
	cur       cursor
	streamSeq int64
	// previous is who left the lane without handing it back; "" after a clean hand-back.
	previous string
	// incarnation is that of the server that answered.
	incarnation string
}

func (d *database) claim(ctx context.Context, cfg Config, limit int) ([]claimed, error) {
	rows, err := d.pool.Query(ctx, d.sql.claim, cfg.Group, cfg.Owner, cfg.Lease, limit)
	if err != nil {
		return nil, fmt.Errorf("claim lanes: %w", d.checked(err))
	}
	got, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (claimed, error) {
		var c claimed
		var target *string
		var pos *int64
		err := row.Scan(&c.lane, &c.token, &c.cur.drained, &target, &pos, &c.streamSeq, &c.previous, &c.incarnation)
		if target != nil && pos != nil {
			c.cur.target, c.cur.pos = *target, *pos
		}
		return c, err
	})
	if err != nil {
		return nil, fmt.Errorf("claim lanes: %w", d.checked(err))
	}
	return got, nil
}

func (d *database) handBack(ctx context.Context, group string, lanes []int16, tokens []string) error {
	_, err := d.pool.Exec(ctx, d.sql.handBack, group, lanes, tokens)
	return d.checked(err)
}

func (d *database) abandon(ctx context.Context, group string, lanes []int16, tokens []string) error {
	_, err := d.pool.Exec(ctx, d.sql.abandon, group, lanes, tokens)
	return d.checked(err)
}

func (d *database) leave(ctx context.Context, group, owner string) error {
	_, err := d.pool.Exec(ctx, d.sql.leave, group, owner)
	return d.checked(err)
}
