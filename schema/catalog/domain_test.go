package catalog_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/schema/canonical"
	"github.com/holdfast-dev/holdfast/schema/catalog"
)

// TestMendLooksAtTheRows: a rule that was gone for a while is not mended over a row that breaks it,
// whether the column is of the domain or is cast to it.
func TestMendLooksAtTheRows(t *testing.T) {
	t.Parallel()
	catalog.ForEachServer(t, func(t *testing.T, s catalog.Server) {
		pool := s.Pool(t)
		install(t, pool, canonical.DefaultParams(), every...)
		for constraint, do := range map[string]string{
			"event_outbox_type": `ALTER DOMAIN outbox.event_outbox_type DROP CONSTRAINT event_outbox_type;
				INSERT INTO outbox.event_outbox (event_id, source, type) VALUES ('e', '/s', 'not a type')`,
			"consumer_inbox_consumer_check": `ALTER DOMAIN outbox.consumer_inbox_consumer DROP CONSTRAINT consumer_inbox_consumer_check;
				INSERT INTO outbox.consumer_inbox (consumer, event_source, event_id) VALUES ('', '/s', 'e')`,
		} {
			tx, err := pool.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := execute(t.Context(), tx, do); err != nil {
				t.Fatal(err)
			}
			found := differences(t, tx, snapshotOf(t, tx))
			if len(found) != 1 {
				t.Fatalf("%s: %v", constraint, found)
			}
			err = execute(t.Context(), tx, found[0].Mend)
			var pgErr *pgconn.PgError
			if !errors.As(err, &pgErr) || pgErr.Code != "23514" {
				t.Errorf("%s: mended over a row that breaks it: %v\n%s", constraint, err, found[0].Mend)
			}
			if err := tx.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestDefaultPrivilegesOnTypes: whatever a database gives or takes by default, the domains end up with the
// same rights, and whoever inserts needs none of them.
func TestDefaultPrivilegesOnTypes(t *testing.T) {
	t.Parallel()
	catalog.ForEachServer(t, func(t *testing.T, s catalog.Server) {
		for name, defaults := range map[string]string{
			"none":    "SELECT",
			"revoked": "ALTER DEFAULT PRIVILEGES REVOKE USAGE ON TYPES FROM PUBLIC",
			"granted": "ALTER DEFAULT PRIVILEGES GRANT USAGE ON TYPES TO PUBLIC",
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				pool := s.Pool(t)
				if _, err := pool.Exec(t.Context(), defaults); err != nil {
					t.Fatal(err)
				}
				install(t, pool, canonical.DefaultParams(), every...)
				snapshot := snapshotOf(t, pool)
				wantClean(t, differences(t, pool, snapshot))
				scratch, err := catalog.Scratch(t.Context(), pool, canonical.DefaultParams(), every...)
				if err != nil {
					t.Fatal(err)
				}
				wantClean(t, differences(t, pool, scratch))
				tx, err := pool.Begin(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer tx.Rollback(t.Context()) // which is what it is for
				insertAsStranger(t, tx)
			})
		}
	})
}

// insertAsStranger inserts as a role that may insert, and nothing else.
func insertAsStranger(t *testing.T, tx pgx.Tx) {
	t.Helper()
	for _, sql := range []string{
		"CREATE ROLE domain_stranger",
		"GRANT USAGE ON SCHEMA outbox TO domain_stranger",
		"GRANT USAGE ON SEQUENCE outbox.event_outbox_seq TO domain_stranger",
		"GRANT INSERT ON outbox.event_outbox, outbox.consumer_fact, outbox.consumer_inbox TO domain_stranger",
		"SET LOCAL ROLE domain_stranger",
		"INSERT INTO outbox.event_outbox (event_id, source, type) VALUES ('e', '/s', 't')",
		`INSERT INTO outbox.consumer_fact (source, account_id, fact_type, fact_key, event_source, event_id, attributes)
			VALUES ('s', 'a', 't', 'k', '/s', 'e', '{}')`,
		"INSERT INTO outbox.consumer_inbox (consumer, event_source, event_id) VALUES ('c', '/s', 'e')",
	} {
		if err := execute(t.Context(), tx, sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	err := execute(t.Context(), tx, "CREATE TEMPORARY TABLE mine (type outbox.event_outbox_type)")
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) || pgErr.Code != "42501" {
		t.Errorf("a stranger makes columns of a domain: %v", err)
	}
}
