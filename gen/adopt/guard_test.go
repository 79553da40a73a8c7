package adopt_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/gen/adopt"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

var small = canonical.Params{MaxEventBytes: 1024}

// TestMigrationLooksAgain changes the database between the look and the migration.
func TestMigrationLooksAgain(t *testing.T) {
	t.Parallel()
	status := adopt.Options{Constants: with(adopt.DataContentType, "application/json"), Ignore: []string{"headers.Correlation-Id"}}
	for _, c := range []struct {
		name, sql string
		opts      adopt.Options
		change    string
		want      string
	}{
		{"a column", flagTable, adopt.Options{Constants: source}, "ALTER TABLE outbox_events ADD tenant text", "other columns"},
		{"a type", flagTable, adopt.Options{Constants: source}, "ALTER TABLE outbox_events ALTER event_type TYPE varchar(99)", "other columns"},
		{"a trigger", flagTable, adopt.Options{Constants: source}, "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'; CREATE TRIGGER tell AFTER INSERT ON outbox_events FOR EACH ROW EXECUTE FUNCTION f()", "trigger tell"},
		{"a foreign key", flagTable, adopt.Options{Constants: source}, "CREATE TABLE log (outbox_id bigint CONSTRAINT points REFERENCES outbox_events)", "foreign key points of public.log"},
		{"a row that breaks a constraint", flagTable, adopt.Options{Constants: source}, "UPDATE outbox_events SET event_type = '' WHERE id = 4", "event_outbox_type"},
		{"a double id", flagTable, adopt.Options{Constants: source}, "UPDATE outbox_events SET event_id = '00000000-0000-7000-8000-000000000002'", "more than one event has the id"},
		{"an event that is there", flagTable, adopt.Options{Constants: source}, "SELECT outbox.publish_text('/orders', 't', id => '00000000-0000-7000-8000-000000000003')", "event_outbox has these events already: 00000000-0000-7000-8000-000000000003"},
		{"a later event of a key", flagTable, adopt.Options{Constants: source}, "SELECT outbox.publish_text('/orders', 't', partitionkey => 'B-1')", "would overtake those with the key B-1"},
		{"a status", statusTable, status, "UPDATE messages_outbox SET status = 'SENDING' WHERE id = 'm3'", "not known whether these rows were published: m3"},
		{"a row of which nothing is known", debeziumTable + "DELETE FROM outboxevent", adopt.Options{Constants: source}, "INSERT INTO outboxevent VALUES (gen_random_uuid(), 'a', 'k', 't', '{}', now())", "not known whether these rows were published"},
		{"an order", debeziumTable + "DELETE FROM outboxevent WHERE type = 'OrderPaid'", adopt.Options{Constants: source, Rows: adopt.RowsAll}, "INSERT INTO outboxevent VALUES (gen_random_uuid(), 'a', 'A-1', 't', '{}', now())", "nothing tells the order of the events with the key A-1"},
		{"a group", watermillTable, adopt.Options{Constants: with(adopt.Type, "t"), NoKey: true, TimeZone: "UTC", Ignore: []string{"metadata.order_id"}}, "DELETE FROM watermill_offsets_orders", "the consumer group forwarder is not in"},
		{"a held event", copyTable, adopt.Options{}, "UPDATE events.event_outbox SET tx = NULL WHERE event_id = 'e2'", "not known whether these rows were published: 2"},
		{"twice", flagTable, adopt.Options{Constants: source}, "", "trigger holdfast_forward"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			db := old(t, c.sql)
			sql := moveSQL(t, look(t, db, c.opts))
			if c.change == "" {
				execute(t, db, sql)
			} else {
				execute(t, db, c.change)
			}
			count := "SELECT count(*)::text FROM outbox.event_outbox"
			before := lines(t, db, count)
			wantError(t, tryExecute(t.Context(), db, sql), c.want)
			if diff := cmp.Diff(before, lines(t, db, count)); diff != "" {
				t.Errorf("events (-before +after):\n%s", diff)
			}
		})
	}
}

// TestMigrationNeedsReadCommitted: at a stricter level it would not see what others committed
// while it waited for the lock.
func TestMigrationNeedsReadCommitted(t *testing.T) {
	t.Parallel()
	db := old(t, flagTable)
	sql := moveSQL(t, look(t, db, adopt.Options{Constants: source}))
	err := pgx.BeginTxFunc(t.Context(), db.Pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol)
		return err
	})
	wantError(t, err, "has to run at READ COMMITTED")
}

// TestMigrationLeavesTheSession as it was, for what the tool runs next in the transaction.
func TestMigrationLeavesTheSession(t *testing.T) {
	t.Parallel()
	db := old(t, flagTable)
	sql := moveSQL(t, look(t, db, adopt.Options{Constants: source}))
	err := pgx.BeginFunc(t.Context(), db.Pool, func(tx pgx.Tx) error {
		const settings = "SELECT concat(current_setting('search_path'), ' ', current_setting('lock_timeout'))"
		var before, after string
		if err := tx.QueryRow(t.Context(), settings).Scan(&before); err != nil {
			return err
		}
		if _, err := tx.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		if err := tx.QueryRow(t.Context(), settings).Scan(&after); err != nil {
			return err
		}
		if before != after {
			t.Errorf("settings are %q, they were %q", after, before)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestMigrationWaitsForWriters: a row whose writer is in a transaction when the migration begins
// is moved, and a claim of the old relay is waited for.
func TestMigrationWaitsForWriters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, statement, want string }{
		{"a writer", "INSERT INTO outbox_events (event_id, aggregate_id, event_type, payload) VALUES (gen_random_uuid(), 'A-1', 'late', '{}')", "4"},
		{"the old relay", "SELECT id FROM outbox_events WHERE published_at IS NULL FOR UPDATE", "3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			db := old(t, flagTable)
			sql := moveSQL(t, look(t, db, adopt.Options{Constants: source}))
			tx, err := db.Pool.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback(t.Context()) //nolint:errcheck // it is committed below
			if _, err := tx.Exec(t.Context(), c.statement); err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() { done <- tryExecute(t.Context(), db, sql) }()
			awaitLock(t, db)
			if err := tx.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if got := lines(t, db, "SELECT count(*)::text FROM outbox.event_outbox"); got[0] != c.want {
				t.Errorf("%s events were moved, want %s", got[0], c.want)
			}
		})
	}
}

// awaitLock waits until somebody waits for a lock on the old table.
func awaitLock(t *testing.T, db *outboxtest.Database) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	for {
		var waits bool
		err := db.Pool.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'outbox_events'::regclass AND NOT granted)").Scan(&waits)
		if err != nil {
			t.Fatal(err)
		}
		if waits {
			return
		}
	}
}

// TestForward: what is written to the old table afterwards is forwarded, in its transaction,
// once, and only what is unpublished.
func TestForward(t *testing.T) {
	t.Parallel()
	db := old(t, flagTable)
	move(t, db, adopt.Options{Constants: source})
	execute(t, db, "CREATE ROLE adopt_writer; GRANT INSERT, SELECT ON outbox_events TO adopt_writer; GRANT USAGE ON SEQUENCE outbox_events_id_seq TO adopt_writer")
	insert := "INSERT INTO outbox_events (id, event_id, aggregate_id, event_type, payload, published_at) VALUES "
	execute(t, db, "BEGIN; SET LOCAL ROLE adopt_writer; "+insert+"(10, '00000000-0000-7000-8000-00000000000a', 'A-1', 'new', '{}', NULL); COMMIT")
	execute(t, db, "BEGIN; "+insert+"(11, gen_random_uuid(), 'A-1', 'undone', '{}', NULL); ROLLBACK")
	execute(t, db, insert+"(10, gen_random_uuid(), 'A-1', 'conflict', '{}', NULL) ON CONFLICT DO NOTHING")
	execute(t, db, insert+"(12, gen_random_uuid(), 'A-1', 'published', '{}', now())")
	execute(t, db, "SET session_replication_role = replica; "+insert+"(13, gen_random_uuid(), 'A-1', 'replica', '{}', NULL); RESET session_replication_role")
	wantError(t, tryExecute(t.Context(), db, insert+"(14, gen_random_uuid(), 'A-1', 'not valid', '{}', NULL)"), "event_outbox_type")

	want := []string{"order.paid", "order.placed", "order.sent", "new", "replica"}
	if diff := cmp.Diff(want, lines(t, db, "SELECT type FROM outbox.event_outbox ORDER BY seq")); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if left := lines(t, db, "SELECT id::text FROM outbox_events WHERE published_at IS NULL"); left != nil {
		t.Errorf("unmarked rows: %v", left)
	}
}

// TestForwardRefuses a row that it can't judge, as loudly as there is: the writer fails.
func TestForwardRefuses(t *testing.T) {
	t.Parallel()
	db := old(t, statusTable)
	move(t, db, adopt.Options{Constants: with(adopt.DataContentType, "application/json"), Ignore: []string{"headers.Correlation-Id"}})
	wantError(t, tryExecute(t.Context(), db, "INSERT INTO messages_outbox (id, topic, status) VALUES ('m9', 't', 'SENDING')"), "not known whether it was published")
}

// TestForwardRefusesEnvelopes of watermill's forwarder, also where no row was looked at.
func TestForwardRefusesEnvelopes(t *testing.T) {
	t.Parallel()
	db := old(t, watermillTable)
	move(t, db, adopt.Options{Constants: with(adopt.Type, "t"), Rows: adopt.RowsNone, NoKey: true, TimeZone: "UTC", Ignore: []string{"metadata"}})
	execute(t, db, `INSERT INTO watermill_orders (uuid, payload, transaction_id) VALUES ('u4', '{}', '103')`)
	wantError(t, tryExecute(t.Context(), db, `INSERT INTO watermill_orders (uuid, payload, transaction_id) VALUES ('u5', '{"destination_topic":"t","uuid":"u","payload":"","metadata":{}}', '104')`), "or how")
	if diff := cmp.Diff([]string{"u4"}, lines(t, db, "SELECT event_id FROM outbox.event_outbox")); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
