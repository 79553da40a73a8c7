package gen

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// Installed says which version of a component a database has.
type Installed struct {
	Component        canonical.Component
	Version          int
	Checksum         string // of the SQL that made it, see [canonical.Rendered]
	SystemIdentifier int64  // of the cluster in which the transaction ids mean something
}

// MismatchError is returned by [Install] for a database that already has a component
// made by other bytes: another version's file, other parameters, an edited copy.
type MismatchError struct {
	Component canonical.Component
	Version   int
	Found     string // checksum recorded in the database
	Expected  string // checksum of the canonical file with the given parameters
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("component %s version %d in the database has checksum %.12s, the canonical file has %.12s: it was made with other parameters or was edited",
		e.Component, e.Version, e.Found, e.Expected)
}

// Hint says what a person can do.
func (e *MismatchError) Hint() string {
	return "install with the parameters recorded in holdfast_schema, or into another database schema"
}

// installLock is the advisory lock key under which installs queue up. Any constant
// does; this one spells "holdfast" in ASCII.
const installLock int64 = 0x686f6c6466617374

// Install brings the components, and those that they need, to their newest version,
// in one transaction. It installs what is missing, upgrades what is older, leaves alone
// what is up to date, and returns a [*MismatchError] for what was made by other bytes.
// Concurrent installs wait for one another.
func Install(ctx context.Context, conn *pgx.Conn, params canonical.Params, components ...canonical.Component) error {
	plan, err := canonical.Plan(params, components...)
	if err != nil {
		return fmt.Errorf("install schema: %w", err)
	}
	schema := params.WithDefaults().Schema
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", installLock); err != nil {
			return fmt.Errorf("install schema: wait for other installs: %w", err)
		}
		have, err := InstalledVersions(ctx, tx, schema)
		if err != nil {
			return fmt.Errorf("install schema: %w", err)
		}
		current := map[canonical.Component]Installed{}
		for _, i := range have {
			current[i.Component] = i
		}
		for _, file := range plan {
			installed := current[file.Component]
			if file.Version == installed.Version && file.Checksum != installed.Checksum {
				return fmt.Errorf("install schema: %w", &MismatchError{
					Component: file.Component, Version: file.Version, Found: installed.Checksum, Expected: file.Checksum})
			}
			if file.Version <= installed.Version {
				continue
			}
			// The simple protocol, because a file holds many statements.
			if _, err := tx.Conn().PgConn().Exec(ctx, file.SQL).ReadAll(); err != nil {
				return fmt.Errorf("install schema: component %s version %d: %w", file.Component, file.Version, err)
			}
		}
		return nil
	})
}

// Querier is what reading needs: a connection, a pool or a transaction of pgx.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// InstalledVersions returns what a database has in the given database schema, in no
// particular order; nothing when Holdfast was never installed there.
func InstalledVersions(ctx context.Context, db Querier, schema string) ([]Installed, error) {
	if !canonical.ValidIdentifier(schema) {
		return nil, fmt.Errorf("read installed versions: %q is not the name of a database schema", schema)
	}
	rows, err := db.Query(ctx, "SELECT to_regclass($1) IS NOT NULL", schema+".holdfast_schema")
	if err != nil {
		return nil, fmt.Errorf("read installed versions: %w", err)
	}
	exists, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[bool])
	if err != nil || !exists {
		return nil, wrap("read installed versions", err)
	}
	rows, err = db.Query(ctx, "SELECT component, version, checksum, system_identifier FROM "+schema+".holdfast_schema")
	if err != nil {
		return nil, fmt.Errorf("read installed versions: %w", err)
	}
	installed, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Installed])
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) && pgErr.Code == "42501" {
		return nil, fmt.Errorf("read installed versions: the role may not read %s.holdfast_schema: %w", schema, err)
	}
	return installed, wrap("read installed versions", err)
}

func wrap(action string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", action, err)
}
