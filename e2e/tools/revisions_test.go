package tools_test

import (
	"context"
	"database/sql"
	"encoding/json"

	"ariga.io/atlas/sql/migrate"
)

// stored is a revision as JSON: its type has a text that it does not read.
type stored struct {
	*migrate.Revision
	Type uint
}

// revisions keeps what atlas ran in a table of the database.
type revisions struct {
	db *sql.DB
}

func (r *revisions) Ident() *migrate.TableIdent { return &migrate.TableIdent{Name: "atlas_revisions"} }

func (r *revisions) ReadRevisions(ctx context.Context) ([]*migrate.Revision, error) {
	if _, err := r.db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS atlas_revisions (version text PRIMARY KEY, body jsonb)"); err != nil {
		return nil, err
	}
	rows, err := r.db.QueryContext(ctx, "SELECT body FROM atlas_revisions ORDER BY version")
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var all []*migrate.Revision
	for rows.Next() {
		var body []byte
		one := stored{Revision: new(migrate.Revision)}
		if err := rows.Scan(&body); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(body, &one); err != nil {
			return nil, err
		}
		one.Revision.Type = migrate.RevisionType(one.Type)
		all = append(all, one.Revision)
	}
	return all, rows.Err()
}

func (r *revisions) ReadRevision(ctx context.Context, version string) (*migrate.Revision, error) {
	all, err := r.ReadRevisions(ctx)
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		if one.Version == version {
			return one, nil
		}
	}
	return nil, migrate.ErrRevisionNotExist
}

func (r *revisions) WriteRevision(ctx context.Context, one *migrate.Revision) error {
	body, err := json.Marshal(stored{one, uint(one.Type)})
	if err != nil {
		return err
	}
	_, err = r.db.ExecContext(ctx, "INSERT INTO atlas_revisions VALUES ($1, $2) ON CONFLICT (version) DO UPDATE SET body = excluded.body", one.Version, body)
	return err
}

func (r *revisions) DeleteRevision(ctx context.Context, version string) error {
	_, err := r.db.ExecContext(ctx, "DELETE FROM atlas_revisions WHERE version = $1", version)
	return err
}
