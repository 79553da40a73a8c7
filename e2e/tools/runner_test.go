package tools_test

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ariga.io/atlas/sql/migrate"
	"ariga.io/atlas/sql/postgres"
	"github.com/amacneil/dbmate/v2/pkg/dbmate"
	_ "github.com/amacneil/dbmate/v2/pkg/driver/postgres"
	golangmigrate "github.com/golang-migrate/migrate/v4"
	_ "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	_ "github.com/golang-migrate/migrate/v4/source/file"
	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib"
	ternmigrate "github.com/jackc/tern/v2/migrate"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// runner is a migration tool, and a migration that a service has before ours.
type runner struct {
	tool  gen.Tool
	own   map[string]string
	up    func(ctx context.Context, url, dir string) error
	down  func(ctx context.Context, url, dir string) error // one step; nil for a tool that has none
	waits bool                                             // several at once wait for one another
}

func runners(t *testing.T) []runner {
	t.Helper()
	psql := runPsql(outboxtest.Cluster(t).BinDir())
	return []runner{
		{tool: gen.Goose, own: map[string]string{"00001_own.sql": "-- +goose Up\nCREATE TABLE own (id int);\n-- +goose Down\nDROP TABLE own;\n"}, up: gooseUp, down: gooseDown, waits: true},
		{tool: gen.GolangMigrate, own: map[string]string{"1_own.up.sql": "CREATE TABLE own (id int);\n", "1_own.down.sql": "DROP TABLE own;\n"}, up: migrateUp, down: migrateDown, waits: true},
		{tool: gen.Tern, own: map[string]string{"001_own.sql": "CREATE TABLE own (id int);\n---- create above / drop below ----\nDROP TABLE own;\n"}, up: ternUp, down: ternDown, waits: true},
		{tool: gen.DBMate, own: map[string]string{"20250101000000_own.sql": "-- migrate:up\nCREATE TABLE own (id int);\n-- migrate:down\nDROP TABLE own;\n"}, up: dbmateUp, down: dbmateDown},
		{tool: gen.Atlas, own: map[string]string{}, up: atlasUp},
		{tool: gen.Flyway, own: map[string]string{"V1__own.sql": "CREATE TABLE own (id int);\n"}, up: psql},
		{tool: gen.Plain, own: map[string]string{"0001_own.sql": "CREATE TABLE own (id int);\n"}, up: psql},
	}
}

func withGoose(url, dir string, do func(*goose.Provider) error) error {
	db, err := sql.Open("pgx", url)
	if err != nil {
		return err
	}
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return errors.Join(err, db.Close())
	}
	p, err := goose.NewProvider(goose.DialectPostgres, db, os.DirFS(dir), goose.WithSessionLocker(locker))
	if err != nil {
		return errors.Join(err, db.Close())
	}
	return errors.Join(do(p), p.Close())
}

func gooseUp(ctx context.Context, url, dir string) error {
	return withGoose(url, dir, func(p *goose.Provider) error { _, err := p.Up(ctx); return err })
}

func gooseDown(ctx context.Context, url, dir string) error {
	return withGoose(url, dir, func(p *goose.Provider) error { _, err := p.Down(ctx); return err })
}

func withMigrate(url, dir string, do func(*golangmigrate.Migrate) error) error {
	m, err := golangmigrate.New("file://"+dir, strings.Replace(url, "postgres://", "pgx5://", 1))
	if err != nil {
		return err
	}
	err = do(m)
	source, database := m.Close()
	return errors.Join(err, source, database)
}

func migrateUp(_ context.Context, url, dir string) error {
	return withMigrate(url, dir, func(m *golangmigrate.Migrate) error {
		if err := m.Up(); !errors.Is(err, golangmigrate.ErrNoChange) {
			return err
		}
		return nil
	})
}

func migrateDown(_ context.Context, url, dir string) error {
	return withMigrate(url, dir, func(m *golangmigrate.Migrate) error { return m.Steps(-1) })
}

func withTern(ctx context.Context, url, dir string, do func(*ternmigrate.Migrator) error) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	m, err := ternmigrate.NewMigrator(ctx, conn, "public.schema_version")
	if err == nil {
		err = m.LoadMigrations(os.DirFS(dir))
	}
	if err == nil {
		err = do(m)
	}
	return errors.Join(err, conn.Close(ctx))
}

func ternUp(ctx context.Context, url, dir string) error {
	return withTern(ctx, url, dir, func(m *ternmigrate.Migrator) error { return m.Migrate(ctx) })
}

func ternDown(ctx context.Context, url, dir string) error {
	return withTern(ctx, url, dir, func(m *ternmigrate.Migrator) error {
		version, err := m.GetCurrentVersion(ctx)
		if err != nil {
			return err
		}
		return m.MigrateTo(ctx, version-1)
	})
}

// plainly is a connection string for lib/pq, which otherwise insists on TLS.
func plainly(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	query := u.Query()
	query.Set("sslmode", "disable")
	u.RawQuery = query.Encode()
	return u, nil
}

func withDBMate(address, dir string, do func(*dbmate.DB) error) error {
	u, err := plainly(address)
	if err != nil {
		return err
	}
	db := dbmate.New(u)
	db.AutoDumpSchema, db.Log, db.MigrationsDir = false, io.Discard, []string{dir}
	return do(db)
}

func dbmateUp(_ context.Context, url, dir string) error {
	return withDBMate(url, dir, (*dbmate.DB).Migrate)
}

func dbmateDown(_ context.Context, url, dir string) error {
	return withDBMate(url, dir, (*dbmate.DB).Rollback)
}

// atlasUp runs what the database does not have: atlas itself keeps that in a table, which
// is no part of its library.
func atlasUp(ctx context.Context, url, dir string) error {
	db, err := sql.Open("pgx", url)
	if err != nil {
		return err
	}
	driver, err := postgres.Open(db)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	folder, err := migrate.NewLocalDir(dir)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	executor, err := migrate.NewExecutor(driver, folder, &revisions{db: db}, migrate.WithAllowDirty(true))
	if err == nil {
		err = executor.ExecuteN(ctx, 0)
	}
	if errors.Is(err, migrate.ErrNoPendingFiles) {
		err = nil
	}
	return errors.Join(err, db.Close())
}

// runPsql runs every file by number, as flyway and a shell would, and remembers which ran.
func runPsql(bin string) func(ctx context.Context, url, dir string) error {
	return func(ctx context.Context, url, dir string) error {
		files, err := filepath.Glob(filepath.Join(dir, "*.sql"))
		if err != nil {
			return err
		}
		slices.SortFunc(files, func(a, b string) int { // V2 before V10
			if len(a) != len(b) && strings.HasPrefix(filepath.Base(a), "V") {
				return len(strings.SplitN(filepath.Base(a), "_", 2)[0]) - len(strings.SplitN(filepath.Base(b), "_", 2)[0])
			}
			return strings.Compare(a, b)
		})
		for _, file := range files {
			done := filepath.Join(filepath.Dir(dir), filepath.Base(file)+".done")
			if _, err := os.Stat(done); err == nil {
				continue
			}
			out, err := exec.CommandContext(ctx, filepath.Join(bin, "psql"), "-X", "-q", "-1", "-v", "ON_ERROR_STOP=1", "-f", file, url).CombinedOutput()
			if err != nil {
				return errors.Join(err, errors.New(string(out)))
			}
			if err := os.WriteFile(done, nil, 0o644); err != nil {
				return err
			}
		}
		return nil
	}
}
