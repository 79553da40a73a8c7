package check

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/relay"
	"github.com/holdfast-dev/holdfast/relay/retention"
	"github.com/holdfast-dev/holdfast/relay/retry"
)

// database is what was gathered from the database. What was not gathered is zero.
type database struct {
	place      string // for people
	connectErr error  // of the connection or the login
	lost       error  // the connection was lost on the way
	server     server
	clock      clock
	ages       ages
	wrong      []right // that are missing, or should not be there
	schema     outbox.Schema
	schemaErr  error // of reading, or what differs
	copied     error // transaction ids of another cluster
	limit      int   // bytes of a payload; 0 when the schema does not tell
	pooled     bool
	statements preparation
	lanes      lanes
	unsound    []retry.Unsound
	rotation   *retention.State
	refused    map[string]error // by what was asked: errors of the server
}

// server is one row of sql/server.sql.
type server struct {
	Version                               string
	Number                                int
	Recovery, ReadOnly                    bool
	Encoding                              string
	PID                                   uint32
	Database, Role                        string
	Superuser                             bool
	RoleLimit, DatabaseLimit, ServerLimit int
	ServerUsed, DatabaseUsed, RoleUsed    int
}

// ages is one row of sql/ages.sql.
type ages struct {
	Oldest   float64 // in seconds
	PID      int
	Who      string
	Hidden   int
	Prepared float64 // in seconds
	GID      string
}

// lanes is one row of sql/lanes.sql.
type lanes struct {
	Lanes, Owned, Relays int
	Taken                bool
}

// checkConns is what the engine needs at once, to find out what a pooler does with prepared statements.
const checkConns = 4

// connectTimeout bounds connecting, which by itself would wait for minutes.
const connectTimeout = 3 * time.Second

// gatherDatabase looks at the database; start says that only what a start needs is asked.
func gatherDatabase(ctx context.Context, t Target, start bool) *database {
	d := &database{refused: map[string]error{}, place: place(t.Database)}
	cfg := t.Database.Copy()
	cfg.MaxConns, cfg.MinConns, cfg.MinIdleConns = checkConns, 0, 0
	// Our own statements work behind any pooler; what those of a relay do is looked at apart.
	cfg.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	cfg.ConnConfig.RuntimeParams["application_name"] = "holdfast-relay-check"
	cfg.ConnConfig.ConnectTimeout = min(cfg.ConnConfig.ConnectTimeout, connectTimeout)
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		d.connectErr = err
		return d
	}
	defer pool.Close()
	conn, err := pool.Acquire(ctx)
	if err != nil {
		d.connectErr = err
		return d
	}
	defer conn.Release()
	steps := []func(context.Context) error{
		func(ctx context.Context) error { return d.readLimit(ctx, conn, t) },
	}
	if !start {
		steps = append(steps,
			func(ctx context.Context) error { return d.readServer(ctx, conn) },
			func(ctx context.Context) error { return d.readClock(ctx, conn, t) },
			func(ctx context.Context) error { return d.readAges(ctx, conn) },
			func(ctx context.Context) error { return d.readRights(ctx, conn, t.Relay.Schema) },
			func(ctx context.Context) error { return d.readSchema(ctx, pool, t.Relay.Schema) },
			func(ctx context.Context) error { return d.readRelay(ctx, pool, t) },
			func(ctx context.Context) error { return d.tryStatements(ctx, pool, t) },
		)
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			d.lost = err
			return d
		}
	}
	return d
}

// answered notes what the server refused, and returns every other error: the connection is gone.
func (d *database) answered(what string, err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code != "57014" { // a statement that was cancelled has no answer
		d.refused[what] = err
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", what, err)
	}
	return nil
}

// querier is a connection or a pool.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

func one[T any](ctx context.Context, db querier, into *T, scan pgx.RowToFunc[T], sql string, args ...any) error {
	rows, err := db.Query(ctx, sql, args...)
	if err == nil {
		*into, err = pgx.CollectExactlyOneRow(rows, scan)
	}
	return err
}

func (d *database) readServer(ctx context.Context, conn *pgxpool.Conn) error {
	err := one(ctx, conn, &d.server, pgx.RowToStructByPos[server], statement("server", ""))
	// Whoever passes connections on gives the client a process id of his own making.
	d.pooled = err == nil && d.server.PID != conn.Conn().PgConn().PID()
	return d.answered("server", err)
}

func (d *database) readAges(ctx context.Context, conn *pgxpool.Conn) error {
	return d.answered("ages", one(ctx, conn, &d.ages, pgx.RowToStructByPos[ages], statement("ages", "")))
}

// readLimit asks for the size limit of the schema, if there is one.
func (d *database) readLimit(ctx context.Context, conn *pgxpool.Conn, t Target) error {
	var present bool
	err := one(ctx, conn, &present, pgx.RowTo[bool], statement("present", ""), t.Relay.Schema, "holdfast_schema")
	if err == nil && present {
		err = one(ctx, conn, &d.limit, pgx.RowTo[int], statement("limit", t.Relay.Schema))
	}
	return d.answered("limit", err)
}

// readSchema reads what is installed and compares it with what this build expects.
func (d *database) readSchema(ctx context.Context, pool *pgxpool.Pool, schema string) error {
	found, err := outbox.ReadSchema(ctx, pool, schema)
	d.schema = found
	if err == nil {
		d.schemaErr = found.Check("outbox", "relay")
		return nil
	}
	if errors.Is(err, outbox.ErrSchemaMissing) {
		d.schemaErr = err
		return nil
	}
	return d.answered("schema", err)
}

// readRelay asks who drains, where there is a place to drain from.
func (d *database) readRelay(ctx context.Context, pool *pgxpool.Pool, t Target) error {
	if _, installed := d.schema.Component("relay"); !installed {
		return nil
	}
	err := relay.VerifyIDs(ctx, pool, t.Relay.Schema)
	var copied *relay.CopiedError
	if errors.As(err, &copied) {
		d.copied, err = copied, nil
	}
	if err = d.answered("cluster", err); err != nil {
		return err
	}
	err = d.answered("lanes", one(ctx, pool, &d.lanes, pgx.RowToStructByPos[lanes], statement("lanes", t.Relay.Schema), t.Relay.Group, t.Relay.Owner))
	if err != nil {
		return err
	}
	store, err := retry.New(pool, retry.Config{Schema: t.Relay.Schema, Group: t.Relay.Group})
	if err == nil {
		d.unsound, err = store.Unsound(ctx, maxUnsound)
	}
	if err := d.answered("waiting-events", err); err != nil {
		return err
	}
	d.rotation, err = retention.Look(ctx, pool, t.Relay.Schema, t.Keep)
	return d.answered("rotation", err)
}

// maxUnsound is how many unsound rows are looked at.
const maxUnsound = 100

// place says which database it is.
func place(cfg *pgxpool.Config) string {
	c := cfg.ConnConfig
	return fmt.Sprintf("%s at %s", c.Database, net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port))))
}
