package roles_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/schema/canonical"
	"github.com/holdfast-dev/holdfast/schema/catalog"
)

func TestMain(m *testing.M) { outboxtest.Main(m) }

// forbidden is the SQLSTATE of what a role may not do.
const forbidden = "42501"

// bundle is a database whose schema belongs to a role without special rights, and its roles.
type bundle struct {
	t     *testing.T
	db    *outboxtest.Database
	owner string
	names gen.RoleNames
}

var bundles atomic.Int64

func newBundle(t *testing.T) *bundle {
	t.Helper()
	prefix := fmt.Sprintf("Role %d ", bundles.Add(1)) // which needs quotes
	b := &bundle{t: t, db: outboxtest.NewEmptyDatabase(t), owner: prefix + "owner", names: gen.RoleNames{}}
	for _, role := range canonical.Roles() {
		b.names[role] = prefix + string(role)
	}
	b.superuser(`CREATE ROLE ` + quote(b.owner) + ` LOGIN CREATEROLE`)
	b.superuser(`GRANT CREATE ON DATABASE ` + quote(b.db.Name) + ` TO ` + quote(b.owner))
	conn := b.connect(b.owner)
	if err := gen.Install(t.Context(), conn, canonical.DefaultParams(), canonical.Components()...); err != nil {
		t.Fatal(err)
	}
	b.writeRoles()
	for _, role := range canonical.Roles() {
		// As in real life: a login that is a member of the role.
		b.superuser(`CREATE ROLE ` + quote(b.login(role)) + ` LOGIN IN ROLE ` + quote(b.names[role]))
	}
	return b
}

// writeRoles runs what gen writes, as the owner.
func (b *bundle) writeRoles() {
	b.t.Helper()
	sql, err := gen.Roles(canonical.DefaultParams(), b.names)
	if err != nil {
		b.t.Fatal(err)
	}
	conn := b.connect(b.owner)
	err = pgx.BeginFunc(b.t.Context(), conn, func(tx pgx.Tx) error {
		_, err := tx.Conn().PgConn().Exec(b.t.Context(), sql).ReadAll()
		return err
	})
	if err != nil {
		b.t.Fatalf("run the roles: %v", err)
	}
}

func (b *bundle) login(role canonical.Role) string { return b.names[role] + " login" }

// superuser runs a statement as the superuser.
func (b *bundle) superuser(sql string, args ...any) {
	b.t.Helper()
	outboxtest.Exec(b.t, b.db.Pool, sql, args...)
}

// url is where a login connects to.
func (b *bundle) url(login string) string {
	b.t.Helper()
	u, err := url.Parse(b.db.URL)
	if err != nil {
		b.t.Fatal(err)
	}
	u.User = url.User(login)
	return u.String()
}

func (b *bundle) connect(login string) *pgx.Conn {
	b.t.Helper()
	conn, err := pgx.Connect(b.t.Context(), b.url(login))
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if err := conn.Close(context.Background()); err != nil {
			b.t.Error(err)
		}
	})
	return conn
}

// pool connects as a login.
func (b *bundle) pool(login string) *pgxpool.Pool {
	b.t.Helper()
	return outboxtest.NewPool(b.t, b.url(login))
}

// as is a connection of one role, and what it may do.
type as struct {
	t    *testing.T
	conn *pgx.Conn
}

func (b *bundle) as(role canonical.Role) as { return as{b.t, b.connect(b.login(role))} }

// try runs statements in a transaction that is rolled back.
func (a as) try(sql string) error {
	tx, err := a.conn.Begin(a.t.Context())
	if err != nil {
		return err
	}
	defer tx.Rollback(a.t.Context()) // which is what it is for
	_, err = tx.Conn().PgConn().Exec(a.t.Context(), sql).ReadAll()
	return err
}

func (a as) can(statements ...string) {
	a.t.Helper()
	for _, sql := range statements {
		if err := a.try(sql); err != nil {
			a.t.Errorf("cannot %s: %v", sql, err)
		}
	}
}

// cannot wants each statement refused for the lack of a right, and for nothing else.
func (a as) cannot(statements ...string) {
	a.t.Helper()
	for _, sql := range statements {
		err := a.try(sql)
		var pgErr *pgconn.PgError
		if !errors.As(err, &pgErr) || pgErr.Code != forbidden {
			a.t.Errorf("%s: error is %v, want %s", sql, err, forbidden)
		}
	}
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

// summary describes a difference without the name of the role, which is another in every test.
func summary(b *bundle, d catalog.Difference) string {
	text := d.Object.String()
	for _, name := range b.names {
		text = strings.Replace(text, " to "+name, " to Role", 1)
	}
	text += ": " + d.Expected
	if d.Matters {
		text += ", matters"
	}
	return text
}

func sorted(lines []string) []string {
	lines = slices.Clone(lines)
	slices.Sort(lines)
	return lines
}
