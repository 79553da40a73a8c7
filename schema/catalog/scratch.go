package catalog

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// Scratch returns what the components, and those that they need, look like in this server:
// it installs them in a new database schema, reads that, and rolls everything back.
func Scratch(ctx context.Context, db DB, params canonical.Params, components ...canonical.Component) (*Expected, error) {
	session, err := begin(ctx, db, pgx.TxOptions{})
	if err != nil {
		return nil, fmt.Errorf("expect schema: begin: %w", err)
	}
	defer session.end(ctx)
	e, err := scratch(ctx, session.conn, params, components)
	if err != nil {
		return nil, fmt.Errorf("expect schema: in a scratch schema: %w", err)
	}
	return e, nil
}

func scratch(ctx context.Context, conn *pgx.Conn, params canonical.Params, components []canonical.Component) (*Expected, error) {
	params = params.WithDefaults()
	// A name that occurs nowhere else, so that replacing it is exact.
	name := "holdfast_scratch_" + strings.ToLower(rand.Text())
	there := params
	there.Schema = name
	plan, err := canonical.Plan(there, components...)
	if err != nil {
		return nil, err
	}
	for _, file := range plan {
		// The simple protocol, because a file holds many statements.
		if _, err := conn.PgConn().Exec(ctx, file.SQL).ReadAll(); err != nil {
			return nil, fmt.Errorf("component %s version %d: %w", file.Component, file.Version, err)
		}
	}
	live, err := read(ctx, conn, name, names{})
	if err != nil {
		return nil, err
	}
	addSeeds(live.facts, plan)
	e := &Expected{Source: FromScratch, Major: live.Major, Params: params, Components: planned(plan)}
	e.facts = live.facts.with(func(s string) string { return strings.ReplaceAll(s, name, schemaToken) })
	for _, props := range e.facts {
		// Default privileges of this database may have given some; nobody asked for them.
		delete(props, propPublic)
		delete(props, propGrants)
		delete(props, propOwner)
	}
	return e, nil
}

// Expect returns what the components look like in this server: from a scratch schema or,
// where the role or the server allows none, from a snapshot.
func Expect(ctx context.Context, db DB, major int, params canonical.Params, components ...canonical.Component) (*Expected, error) {
	e, err := Scratch(ctx, db, params, components...)
	if err == nil || !forbidden(err) {
		return e, err
	}
	return Snapshot(major, params, components...)
}

// forbidden reports whether the role may not create a database schema, or nobody may
// because the server is a standby or the transaction is read-only.
func forbidden(err error) bool {
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && (pgErr.Code == "42501" || pgErr.Code == "25006")
}
