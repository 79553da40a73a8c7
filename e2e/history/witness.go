package history

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

var (
	//go:embed sql/install.sql
	installSQL string
	//go:embed sql/moves.sql
	movesSQL string
	//go:embed sql/waits.sql
	waitsSQL string
	//go:embed sql/rows.sql
	rowsSQL string
	//go:embed sql/settled.sql
	settledSQL string
)

// Querier is what reading needs: a pool or a connection.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// InstallWitness puts triggers on the lanes and the waiting events of an outbox in the default
// schema, which record every change of group "default". Sessions must name themselves by
// application_name.
func InstallWitness(ctx context.Context, conn *pgx.Conn) error {
	if _, err := conn.Exec(ctx, installSQL); err != nil {
		return fmt.Errorf("install the witness: %w", err)
	}
	return nil
}

// ReadWitness takes the moves, the waiting events, the rows of the outbox and the settled count
// into the history.
func (h *History) ReadWitness(ctx context.Context, db Querier) error {
	var err error
	if h.Moves, err = collect(ctx, db, movesSQL, scanMove); err != nil {
		return fmt.Errorf("read the moves of lanes: %w", err)
	}
	h.Waits, err = collect(ctx, db, waitsSQL, pgx.RowToStructByPos[Wait])
	if err != nil {
		return fmt.Errorf("read the events that waited: %w", err)
	}
	h.Rows, err = collect(ctx, db, rowsSQL, func(row pgx.CollectableRow) (r Row, err error) {
		return r, row.Scan(&r.Source, &r.ID, &r.Lane, &r.Tx, &r.Position)
	})
	if err != nil {
		return fmt.Errorf("read the rows of the outbox: %w", err)
	}
	settled, err := collect(ctx, db, settledSQL, pgx.RowTo[int64])
	if err != nil {
		return fmt.Errorf("read the settled batches: %w", err)
	}
	h.Settled = settled[0]
	return nil
}

func collect[T any](ctx context.Context, db Querier, sql string, scan pgx.RowToFunc[T]) ([]T, error) {
	rows, err := db.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scan)
}

func scanMove(row pgx.CollectableRow) (Move, error) {
	var m Move
	before, after := laneColumns{lane: &m.Before}, laneColumns{lane: &m.After}
	targets := append([]any{&m.Began, &m.At, &m.Session, &m.Number}, append(before.targets(), after.targets()...)...)
	if err := row.Scan(targets...); err != nil {
		return m, err
	}
	if err := before.parse(); err != nil {
		return m, err
	}
	return m, after.parse()
}

// laneColumns are the columns of one state of a lane.
type laneColumns struct {
	lane    *Lane
	until   *time.Time
	drained string
	target  *string
}

func (c *laneColumns) targets() []any {
	return []any{&c.lane.Owner, &c.lane.Token, &c.until, &c.drained, &c.target, &c.lane.Position}
}

func (c *laneColumns) parse() (err error) {
	if c.until != nil {
		c.lane.Until = *c.until
	}
	if c.lane.Drained, err = ParseSnapshot(c.drained); err != nil || c.target == nil {
		return err
	}
	target, err := ParseSnapshot(*c.target)
	c.lane.Target = &target
	return err
}
