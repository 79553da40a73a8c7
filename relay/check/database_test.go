package check_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/relay/check"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// TestHealthy also measures: a healthy set-up answers within a second.
func TestHealthy(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	began := time.Now()
	r := b.clean()
	t.Logf("%d checks in %s", len(r.Findings), time.Since(began))
	if skipped := r.Of(check.Skip); len(skipped) > 0 {
		t.Errorf("not made: %+v", skipped)
	}
	if len(r.Findings) != len(check.Names()) || !r.Healthy() || r.Away() {
		t.Errorf("report %+v", r)
	}
	// What is allowed by name is said all the same.
	b.Allow = nil
	if warned := b.run().Of(check.Warn, check.Fail); len(warned) != 2 || warned[0].Check != "replicas" || warned[1].Check != "sync" {
		t.Errorf("warned %+v", warned)
	}
}

// TestDatabase breaks one thing in the database at a time.
func TestDatabase(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		breakIt    func(b *bench)
		check      string
		severity   check.Severity
		text, hint string
	}{
		{"no such database", func(b *bench) { b.Database.ConnConfig.Database = "nowhere" },
			"database", check.Fail, "there is no such database: nowhere", "RELAY_DATABASE_URL"},
		{"no such role", func(b *bench) { b.connectAs("stranger") },
			"database-login", check.Fail, "refuses the login", "check the user"},
		{"no select on the log", func(b *bench) { b.exec("REVOKE SELECT ON outbox.event_outbox FROM " + b.drainer()) },
			"rights", check.Fail, "lacks SELECT on event_outbox", "outbox-gen roles"},
		{"no rights on the relay's tables", func(b *bench) {
			b.exec("REVOKE UPDATE ON outbox.outbox_lane FROM " + b.drainer())
			b.exec("REVOKE ALL ON outbox.outbox_retry FROM " + b.drainer())
		}, "rights", check.Fail, "lacks UPDATE on outbox_lane; SELECT, INSERT, UPDATE, DELETE on outbox_retry", "outbox-gen roles"},
		{"no way into the schema", func(b *bench) { b.exec("REVOKE USAGE ON SCHEMA outbox FROM " + b.drainer()) },
			"rights", check.Fail, "lacks USAGE on the database schema", "outbox-gen roles"},
		{"may write the log", func(b *bench) { b.exec("GRANT DELETE, INSERT (data) ON outbox.event_outbox TO " + b.login()) },
			"least-rights", check.Warn, "may INSERT, DELETE on event_outbox", "role of its own"},
		{"superuser", func(b *bench) { b.connectAs("postgres") },
			"least-rights", check.Warn, "role postgres is a superuser", "role of its own"},
		{"schema missing", func(b *bench) { b.Relay.Schema = "elsewhere" },
			"schema", check.Fail, "schema elsewhere: component outbox: schema not installed", "outbox-gen write"},
		{"component missing", func(b *bench) { b.exec("DELETE FROM outbox.holdfast_schema WHERE component = 'relay'") },
			"schema", check.Fail, "component relay: schema not installed", "outbox-gen write"},
		{"newer schema", func(b *bench) { b.exec("UPDATE outbox.holdfast_schema SET version = 99 WHERE component = 'relay'") },
			"schema", check.Fail, "version is 99", "upgrade"},
		{"drifted schema", func(b *bench) {
			b.exec("ALTER SEQUENCE outbox.event_outbox_seq CACHE 20")
			b.exec("DROP INDEX outbox.event_outbox_lane_tx")
		}, "schema-drift", check.Fail, "and 1 further difference", "This mends it"},
		{"other cluster", func(b *bench) { b.exec("UPDATE outbox.holdfast_schema SET system_identifier = 42") },
			"cluster", check.Fail, "database comes from another cluster", "relay rebase"},
		{"cursor of another cluster", func(b *bench) {
			b.exec("UPDATE outbox.outbox_lane SET drained = '900000000000:900000000000:' WHERE lane = 3")
		},
			"cluster", check.Fail, "rows were copied from another one", "relay rebase"},
		{"read-only", func(b *bench) {
			b.exec("ALTER ROLE " + b.login() + " SET default_transaction_read_only = on")
		}, "primary", check.Fail, "transactions are read-only", "default_transaction_read_only"},
		{"too old", func(b *bench) { b.Target = b.WithVersions(98, 99) },
			"postgres-version", check.Fail, "is too old: 98 to 99 are supported", "upgrade the server"},
		{"too new", func(b *bench) { b.Target = b.WithVersions(9, 10) },
			"postgres-version", check.Fail, "is too new", "upgrade Holdfast"},
		{"our clock is late", func(b *bench) {
			b.Target = b.WithClock(func() time.Time { return time.Now().Add(-90 * time.Second) })
		}, "clock", check.Warn, "s ahead of that of this machine", "NTP"},
		{"our clock is early", func(b *bench) {
			b.Target = b.WithClock(func() time.Time { return time.Now().Add(90 * time.Second) })
		}, "clock", check.Warn, "s behind that of this machine", "NTP"},
		{"few connections", func(b *bench) { b.exec("ALTER ROLE " + b.login() + " CONNECTION LIMIT 6") },
			"connections", check.Warn, "a relay needs 10: role ", "RELAY_WORKERS"},
		{"few connections to the database", func(b *bench) { b.exec("ALTER DATABASE " + b.db.Name + " CONNECTION LIMIT 8") },
			"connections", check.Warn, "a relay needs 10: database ", "RELAY_WORKERS"},
		{"old transaction", func(b *bench) { b.open("REPEATABLE READ") },
			"old-transactions", check.Warn, "a transaction is open for", "idle_in_transaction_session_timeout"},
		{"nobody drains", func(b *bench) {
			b.exec("UPDATE outbox.outbox_relay SET alive_until = clock_timestamp() - interval '1 s'")
		},
			"lanes", check.Warn, "no relay of group default is alive: nobody drains its 16 lanes", "relay run"},
		{"lanes without an owner", func(b *bench) {
			b.exec("UPDATE outbox.outbox_lane SET lease_until = clock_timestamp() - interval '1 s' WHERE lane < 3")
		}, "lanes", check.Warn, "3 of 16 lanes of group default have no live owner", "one lease"},
		{"name is taken", func(b *bench) { b.Relay.Owner = "pod-a" },
			"owner", check.Warn, `a live relay of group default is called "pod-a" already`, "RELAY_OWNER"},
		{"unsound row", func(b *bench) {
			b.exec(`INSERT INTO outbox.outbox_retry (relay_group, lane, seq, event_id, work_kind, row_version)
				VALUES ('default', 1, 7, 'e-7', 'parked', 9223372036854775807)`)
		}, "waiting-events", check.Fail, "1 waiting event cannot be tried: id 1, event e-7", "delete the row"},
		{"a group holds up the rotation", func(b *bench) {
			b.exec(oldEvent)
			b.exec("UPDATE outbox.outbox_lane SET drained = pg_current_snapshot()")
			b.exec("INSERT INTO outbox.outbox_lane (relay_group, lane) SELECT 'mirror', lane FROM outbox.outbox_lane")
		}, "rotation", check.Warn, "and is undrained: group mirror has not drained lane ", "delete the lanes"},
		{"nobody empties slots", func(b *bench) {
			b.exec(oldEvent)
			b.exec("UPDATE outbox.outbox_lane SET drained = pg_current_snapshot()")
		}, "rotation", check.Warn, "is ready: nothing speaks against it, and nobody does it", "RELAY_MAINTENANCE"},
		{"retention is too long", func(b *bench) { b.Keep = 60 * time.Hour },
			"rotation", check.Warn, "retention 60h0m0s is longer than the 48h0m0s that 4 slots of 24h0m0s keep up with", "RELAY_RETENTION"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			c.breakIt(b)
			b.finds(c.check, c.severity, c.text, c.hint)
		})
	}
}

// oldEvent writes an event of three days ago into a slot that is not the current one.
const oldEvent = `INSERT INTO outbox.event_outbox (slot, event_id, source, type, staged_at)
	VALUES ((floor(extract(epoch from clock_timestamp()) / 86400)::int + 2) % 4, 'e', '/s', 't', clock_timestamp() - interval '3 days')`

// open begins a transaction that has done something and is older than the target allows.
func (b *bench) open(level string) {
	b.t.Helper()
	tx, err := b.db.Pool.BeginTx(b.t.Context(), pgx.TxOptions{IsoLevel: pgx.TxIsoLevel(level)})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = tx.Rollback(b.t.Context()) }) // closed with the pool at the latest
	if _, err := tx.Exec(b.t.Context(), "SELECT pg_current_xact_id()"); err != nil {
		b.t.Fatal(err)
	}
	b.exec("GRANT pg_read_all_stats TO " + b.login())
	b.MaxAge = time.Microsecond
}

func TestDatabaseUnreachable(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Database.ConnConfig.Port = 1
	b.Database.ConnConfig.Fallbacks = nil
	b.finds("database", check.Fail, "cannot be reached", "check that the server runs")
	if r := b.run(); !r.Away() {
		t.Error("waiting may help, and the report does not say so")
	}
}

func TestOtherEncoding(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	other := b.db.Name + "_latin"
	b.exec("CREATE DATABASE " + other + " TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'")
	t.Cleanup(func() {
		if _, err := b.db.Pool.Exec(t.Context(), "DROP DATABASE IF EXISTS "+other+" WITH (FORCE)"); err != nil {
			t.Log(err) // the cluster goes away with the process
		}
	})
	config := b.db.Pool.Config().ConnConfig.Copy()
	config.Database = other
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if err := gen.Install(t.Context(), conn, canonical.DefaultParams(), canonical.Relay); err != nil {
		t.Logf("install: %v", err)
	}
	_ = conn.Close(t.Context())
	b.Before = true
	b.Database.ConnConfig.Database = other
	b.finds("encoding", check.Fail, "the encoding of the database is LATIN1", "ENCODING 'UTF8'")
}

func TestBeforeAnythingIsInstalled(t *testing.T) {
	t.Parallel()
	b := &bench{t: t, db: outboxtest.NewEmptyDatabase(t)}
	b.connectAs("postgres")
	b.useNATS(outboxtest.NewNATS(t))
	b.Before = true
	r := b.clean()
	if skipped := r.Of(check.Skip); len(skipped) > 0 || len(r.Findings) < 10 {
		t.Errorf("made %d checks, skipped %+v", len(r.Findings), skipped)
	}
	b.Before = false
	b.Relay.Stream = "ORDERS"
	failed := b.run().Of(check.Fail)
	if len(failed) != 2 || failed[0].Check != "schema" || failed[1].Check != "stream" {
		t.Errorf("failed: %+v", failed)
	}
}
