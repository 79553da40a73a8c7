package roles_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/schema/canonical"
	"github.com/holdfast-dev/holdfast/schema/catalog"
)

// TestGrants: rights that are missing or too many are reported and mended, and writing the
// roles again has the same effect.
func TestGrants(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	wantGrants(t, b)
	spoil := []string{
		"REVOKE INSERT ON outbox.outbox_batch FROM " + quote(b.names[canonical.Drainer]),
		"REVOKE EXECUTE ON FUNCTION outbox.publish_text FROM " + quote(b.names[canonical.Producer]),
		"REVOKE INSERT (subject, data) ON outbox.event_outbox FROM " + quote(b.names[canonical.Producer]),
		"REVOKE USAGE ON SCHEMA outbox FROM " + quote(b.names[canonical.Auditor]),
		"REVOKE USAGE ON SEQUENCE outbox.event_outbox_seq FROM " + quote(b.names[canonical.Producer]),
		"GRANT DELETE ON outbox.event_outbox TO " + quote(b.names[canonical.Drainer]),
		"GRANT SELECT (data) ON outbox.event_outbox TO " + quote(b.names[canonical.Operator]),
		"GRANT SELECT ON outbox.event_outbox_1 TO " + quote(b.names[canonical.Operator]),
	}
	want := []string{
		"grant DELETE on table event_outbox to Role: not granted, matters",
		"grant EXECUTE on function publish_text to Role: granted, matters",
		"grant INSERT (data, subject) on table event_outbox to Role: granted, matters",
		"grant INSERT on table outbox_batch to Role: granted, matters",
		"grant SELECT (data) on table event_outbox to Role: not granted",
		"grant SELECT on table event_outbox_1 to Role: not granted",
		"grant USAGE on schema to Role: granted, matters",
		"grant USAGE on sequence event_outbox_seq to Role: granted, matters",
	}
	for _, sql := range spoil {
		b.superuser(sql)
	}
	wantGrants(t, b, want...)
	for _, d := range b.grants() {
		b.superuser(d.Mend)
	}
	wantGrants(t, b)
	for _, sql := range spoil {
		b.superuser(sql)
	}
	b.writeRoles()
	wantGrants(t, b)
}

// TestGrantsOfOneLogin: a login may stand for several roles, by membership or by itself.
func TestGrantsOfOneLogin(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	logins := map[canonical.Role]string{}
	for _, role := range canonical.Roles() {
		logins[role] = b.login(role)
	}
	b.superuser("GRANT " + quote(b.names[canonical.Operator]) + " TO " + quote(logins[canonical.Producer]))
	logins[canonical.Operator] = logins[canonical.Producer]
	found, err := catalog.Grants(t.Context(), b.db.Pool, canonical.DefaultParams(), canonical.Components(), logins)
	if err != nil || len(found) != 0 {
		t.Errorf("found %v, %v", found, err)
	}
	logins[canonical.Auditor] = "nobody of that name"
	found, err = catalog.Grants(t.Context(), b.db.Pool, canonical.DefaultParams(), canonical.Components(), logins)
	if err != nil || len(found) != 1 || found[0].String() != "role nobody of that name: existence is missing, expected present" {
		t.Errorf("found %v, %v", found, err)
	}
	b.names[canonical.Auditor] = b.names[canonical.Operator] // one database role for two kinds of work
	b.writeRoles()
	wantGrants(t, b)
}

// TestEveryRoleCanVerify: each role can compare the catalog with what it should be.
func TestEveryRoleCanVerify(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	for _, role := range canonical.Roles() {
		if _, err := outbox.Verify(t.Context(), b.pool(b.login(role)), "", canonical.Components()...); err != nil {
			t.Errorf("%s: %v", role, err)
		}
	}
}

// TestSearchPathAttack: a caller who puts his own functions and operators in front of the
// server's does not get them run with the rights of the owner.
func TestSearchPathAttack(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	for role, statements := range map[canonical.Role][]string{
		canonical.Producer: {
			`SELECT outbox.publish('/s', 't', 'x', extensions => '{"a":1}', "time" => '2026-01-01T00:00:00Z')`,
			"SELECT outbox.publish_base64('/s', 't', 'eA==')",
		},
		canonical.Operator: {register, release, state, requeue, discard},
	} {
		b.superuser("DROP SCHEMA IF EXISTS evil CASCADE; CREATE SCHEMA evil; GRANT USAGE ON SCHEMA evil TO PUBLIC; GRANT ALL ON SCHEMA evil TO " + quote(b.login(role)))
		conn := b.connect(b.login(role))
		if _, err := conn.PgConn().Exec(t.Context(), evil).ReadAll(); err != nil {
			t.Fatal(err)
		}
		for _, sql := range statements {
			if _, err := conn.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
				t.Errorf("%s as %s: %v", sql, role, err)
			}
		}
		var who string
		err := b.db.Pool.QueryRow(t.Context(), "SELECT coalesce(string_agg(who, ','), '') FROM evil.seen").Scan(&who)
		if err != nil || who != "" {
			t.Errorf("evil code ran as %q, %v", who, err)
		}
	}
}

// evil shadows what the functions of the outbox use, in a schema and as temporary objects.
const evil = `
SET search_path = evil, pg_temp, pg_catalog;
CREATE TABLE evil.seen (who text);
CREATE FUNCTION evil.octet_length(text) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN INSERT INTO evil.seen VALUES (current_user); RETURN 1; END $$;
CREATE FUNCTION evil.clock_timestamp() RETURNS timestamptz LANGUAGE plpgsql AS $$ BEGIN INSERT INTO evil.seen VALUES (current_user); RETURN now(); END $$;
CREATE FUNCTION evil.differs(text, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN INSERT INTO evil.seen VALUES (current_user); RETURN false; END $$;
CREATE OPERATOR evil.<> (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.differs);
CREATE TEMPORARY TABLE event_outbox (seq bigint);
CREATE TEMPORARY TABLE hold_generation (state text);
GRANT INSERT, SELECT ON evil.seen TO PUBLIC;
`

func (b *bundle) grants() []catalog.Difference {
	b.t.Helper()
	found, err := catalog.Grants(b.t.Context(), b.db.Pool, canonical.DefaultParams(), canonical.Components(), b.names)
	if err != nil {
		b.t.Fatal(err)
	}
	return found
}

func wantGrants(t *testing.T, b *bundle, want ...string) {
	t.Helper()
	var got []string
	for _, d := range b.grants() {
		got = append(got, summary(b, d))
	}
	if diff := cmp.Diff(sorted(want), sorted(got)); diff != "" {
		t.Errorf("grants (-want +got):\n%s", diff)
	}
}
