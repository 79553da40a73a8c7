package gen

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/schema/canonical"
	"github.com/holdfast-dev/holdfast/schema/catalog"
)

// Database is what verifying needs: a pool, a connection or a transaction of pgx.
type Database interface {
	Querier
	catalog.DB
}

// VerifyOptions say what a database must have. The zero value is: what it says it has.
type VerifyOptions struct {
	// Schema is the database schema. Defaults to "outbox".
	Schema string
	// Components that must be there. Defaults to those that are recorded as installed.
	Components []canonical.Component
	// Params that the schema must have been made with. Zero fields are as recorded.
	Params canonical.Params
	// Roles are the database roles whose rights are looked at. Defaults to none.
	Roles map[canonical.Role]string
	// Source of what is expected. Defaults to a scratch schema where the role may create
	// one, and a snapshot otherwise.
	Source catalog.Source
}

// Verified is what was found.
type Verified struct {
	Schema      string
	Postgres    int                   // major version of the server
	Source      catalog.Source        // of what is expected; "" when nothing could be compared
	Params      canonical.Params      // that were expected
	Components  []canonical.Component // that were expected
	Differences []catalog.Difference  // in an order in which they can be mended
}

// Matters reports whether a relay would refuse the database.
func (v *Verified) Matters() bool {
	return slices.ContainsFunc(v.Differences, func(d catalog.Difference) bool { return d.Matters })
}

// Verify compares a database with the canonical schema: what it has recorded, its catalog, and
// the rights of roles. It changes nothing. An error means that the question could not be
// answered; a database without Holdfast is an answer.
func Verify(ctx context.Context, db Database, opts VerifyOptions) (*Verified, error) {
	if opts.Schema == "" {
		opts.Schema = canonical.DefaultParams().Schema
	}
	live, err := catalog.Read(ctx, db, opts.Schema)
	if err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	v := &Verified{Schema: opts.Schema, Postgres: live.Major}
	ledger, err := readLedger(ctx, db, opts.Schema)
	if err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	v.Params, v.Components = ledger.expect(opts)
	if err := v.Params.Validate(); err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	current, found, err := ledger.compare(v.Params, v.Components)
	if err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	if len(current) > 0 {
		expected, err := expect(ctx, db, opts.Source, live.Major, v.Params, current)
		if err != nil {
			return nil, fmt.Errorf("verify: %w", err)
		}
		v.Source = expected.Source
		v.Differences = catalog.Compare(expected, live)
	}
	v.Differences = append(v.Differences, found...)
	if len(opts.Roles) > 0 && len(current) > 0 {
		grants, err := catalog.Grants(ctx, db, v.Params, current, opts.Roles)
		if err != nil {
			return nil, fmt.Errorf("verify: %w", err)
		}
		v.Differences = append(v.Differences, grants...)
	}
	return v, nil
}

func expect(ctx context.Context, db Database, source catalog.Source, major int, params canonical.Params, components []canonical.Component) (*catalog.Expected, error) {
	switch source {
	case catalog.FromScratch:
		return catalog.Scratch(ctx, db, params, components...)
	case catalog.FromSnapshot:
		return catalog.Snapshot(major, params, components...)
	}
	return catalog.Expect(ctx, db, major, params, components...)
}

// ledger is what the migrations recorded.
type ledger struct {
	schema   string
	recorded map[canonical.Component]entry
	identity int64 // of the cluster that serves the database now
}

type entry struct {
	version  int
	checksum string
	params   canonical.Params
	identity int64 // of the cluster in which it was installed
}

// readLedger reads what is recorded; nothing where nothing is installed.
func readLedger(ctx context.Context, db Querier, schema string) (*ledger, error) {
	l := &ledger{schema: schema, recorded: map[canonical.Component]entry{}}
	installed, err := InstalledVersions(ctx, db, schema)
	if err != nil || len(installed) == 0 {
		return l, err
	}
	rows, err := db.Query(ctx, `SELECT component, version, checksum, parameters::text, system_identifier,
		(pg_catalog.pg_control_system()).system_identifier FROM `+schema+`.holdfast_schema`)
	if err != nil {
		return nil, fmt.Errorf("read what is installed: %w", err)
	}
	var component, params string
	var e entry
	_, err = pgx.ForEachRow(rows, []any{&component, &e.version, &e.checksum, &params, &e.identity, &l.identity}, func() error {
		parsed, err := canonical.ParseParams(params)
		e.params = parsed
		l.recorded[canonical.Component(component)] = e
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read what is installed: %w", err)
	}
	return l, nil
}
