package adopt_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/gen/adopt"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// load is a shape under its writers and its relay.
type load struct {
	name   string
	create string
	insert string // $1 is the key, $2 the number of the event within it
	opts   adopt.Options
	// publish takes what is unpublished, in its order, and marks it; nil for a shape whose relay
	// is stopped before anything is written.
	publish string
	// goesOn says that the relay need not be stopped: what was moved is marked.
	goesOn bool
}

var loads = []load{
	{
		name: "flag", opts: adopt.Options{Constants: source}, goesOn: true,
		create:  "CREATE TABLE outbox_events (id bigserial PRIMARY KEY, aggregate_id text, event_type text NOT NULL DEFAULT 't', payload jsonb, published_at timestamptz)",
		insert:  "INSERT INTO outbox_events (aggregate_id, payload) VALUES ($1, to_jsonb($2::int))",
		publish: "WITH done AS (UPDATE outbox_events o SET published_at = now() FROM (SELECT id FROM outbox_events WHERE published_at IS NULL ORDER BY id LIMIT 20 FOR UPDATE) c WHERE o.id = c.id RETURNING o.id, aggregate_id AS key, payload::text AS n) SELECT key, n FROM done ORDER BY id",
	},
	{
		name: "status", opts: adopt.Options{Constants: source, Done: []string{"published"}}, goesOn: true,
		create:  "CREATE TABLE outbox_events (id bigserial PRIMARY KEY, aggregate_id text, event_type text NOT NULL DEFAULT 't', payload jsonb, status text NOT NULL DEFAULT 'pending')",
		insert:  "INSERT INTO outbox_events (aggregate_id, payload) VALUES ($1, to_jsonb($2::int))",
		publish: "WITH done AS (UPDATE outbox_events o SET status = 'published' FROM (SELECT id FROM outbox_events WHERE status = 'pending' ORDER BY id LIMIT 20 FOR UPDATE) c WHERE o.id = c.id RETURNING o.id, aggregate_id AS key, payload::text AS n) SELECT key, n FROM done ORDER BY id",
	},
	{
		name: "debezium", opts: adopt.Options{Constants: source, Rows: adopt.RowsAll, Order: []string{"timestamp"}},
		create: `CREATE TABLE outboxevent (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), aggregatetype text NOT NULL DEFAULT 'a', aggregateid text NOT NULL, type text NOT NULL DEFAULT 't', payload jsonb, "timestamp" timestamptz DEFAULT clock_timestamp())`,
		insert: "INSERT INTO outboxevent (aggregateid, payload) VALUES ($1, to_jsonb($2::int))",
	},
	{
		name: "watermill", opts: adopt.Options{
			Constants: with(adopt.Type, "t"), Columns: map[adopt.Attribute]string{adopt.PartitionKey: "metadata.id"}, TimeZone: "UTC",
		},
		create: `CREATE TABLE watermill_x ("offset" BIGSERIAL, uuid VARCHAR(36) NOT NULL DEFAULT gen_random_uuid(), created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, payload JSON, metadata JSON, transaction_id xid8 NOT NULL, PRIMARY KEY (transaction_id, "offset"));
			CREATE TABLE watermill_offsets_x (consumer_group VARCHAR(255) PRIMARY KEY, offset_acked BIGINT, last_processed_transaction_id xid8 NOT NULL);
			INSERT INTO watermill_offsets_x VALUES ('', 0, '0')`,
		insert: "INSERT INTO watermill_x (payload, metadata, transaction_id) VALUES (to_json($2::int), json_build_object('id', $1::text), pg_current_xact_id())",
		publish: `WITH last AS (SELECT offset_acked, last_processed_transaction_id AS tx FROM watermill_offsets_x FOR UPDATE), next AS (
			SELECT m.* FROM watermill_x m, last WHERE (m.transaction_id = last.tx AND m."offset" > last.offset_acked OR m.transaction_id > last.tx)
			   AND m.transaction_id < pg_snapshot_xmin(pg_current_snapshot()) ORDER BY transaction_id, "offset" LIMIT 20
		), acked AS (
			UPDATE watermill_offsets_x SET (last_processed_transaction_id, offset_acked) = (SELECT transaction_id, "offset" FROM next ORDER BY transaction_id DESC, "offset" DESC LIMIT 1)
			 WHERE EXISTS (SELECT FROM next)
		) SELECT metadata ->> 'id', payload::text FROM next ORDER BY transaction_id, "offset"`,
	},
	{
		name: "copy", goesOn: true,
		create: `CREATE SCHEMA events; CREATE TABLE events.event_outbox (seq bigserial PRIMARY KEY, event_id uuid NOT NULL DEFAULT gen_random_uuid(), source text NOT NULL DEFAULT '/s', type text NOT NULL DEFAULT 't',
			partition_key text, datacontenttype text DEFAULT 'text/plain', data bytea, published_at timestamptz)`,
		insert:  "INSERT INTO events.event_outbox (partition_key, data) VALUES ($1, convert_to($2::int::text, 'UTF8'))",
		publish: "WITH done AS (UPDATE events.event_outbox o SET published_at = now() FROM (SELECT seq FROM events.event_outbox WHERE published_at IS NULL ORDER BY seq LIMIT 20 FOR UPDATE) c WHERE o.seq = c.seq RETURNING o.seq, partition_key AS key, convert_from(data, 'UTF8') AS n) SELECT key, n FROM done ORDER BY seq",
	},
}

const (
	writers   = 5
	perWriter = 40
)

// TestConcurrentWriters runs each migration while writers write, and with the old relay where
// that may go on. Every event that was committed was published by the old relay, or is in
// event_outbox, and not both; and of each key first the ones, then the others, in order.
func TestConcurrentWriters(t *testing.T) {
	t.Parallel()
	for _, l := range loads {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			db := old(t, l.create)
			sql := moveSQL(t, look(t, db, l.opts))
			ctx, stopRelay := context.WithCancel(t.Context())
			defer stopRelay()
			published := map[string][]string{}
			var relay, all sync.WaitGroup
			if l.publish != "" {
				relay.Go(func() { l.relay(ctx, t, db, published) })
			}
			var committed atomic.Int64
			third := make(chan struct{})
			for w := range writers {
				all.Go(func() { l.write(t, db, fmt.Sprintf("key-%d", w), &committed, third) })
			}
			<-third
			if !l.goesOn {
				stopRelay()
				relay.Wait()
			}
			execute(t, db, sql)
			moved := lines(t, db, "SELECT count(*)::text FROM outbox.event_outbox")
			all.Wait()
			stopRelay()
			relay.Wait()
			got := published
			rows, err := db.Pool.Query(t.Context(), "SELECT partition_key, convert_from(data, 'UTF8') FROM outbox.event_outbox ORDER BY seq")
			if err != nil {
				t.Fatal(err)
			}
			collect(t, rows, got)
			want := map[string][]string{}
			for w := range writers {
				for n := range perWriter {
					key := fmt.Sprintf("key-%d", w)
					want[key] = append(want[key], fmt.Sprint(n))
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("events by key (-want +got):\n%s", diff)
			}
			t.Logf("moved or forwarded at the end of the migration: %v of %d", moved, writers*perWriter)
		})
	}
}

// write commits the events of one key, some after a rollback.
func (l *load) write(t *testing.T, db *outboxtest.Database, key string, committed *atomic.Int64, third chan struct{}) {
	rng := rand.New(rand.NewPCG(1, uint64(len(key)+int(key[len(key)-1]))))
	for n := 0; n < perWriter; {
		undo := errors.New("undone")
		err := pgx.BeginFunc(t.Context(), db.Pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(t.Context(), l.insert, key, n); err != nil {
				return err
			}
			if rng.IntN(4) == 0 {
				return undo
			}
			return nil
		})
		if errors.Is(err, undo) {
			continue
		}
		if err != nil {
			t.Errorf("write: %v", err)
			return
		}
		n++
		if committed.Add(1) == writers*perWriter/3 {
			close(third)
		}
	}
}

// relay publishes until it is stopped.
func (l *load) relay(ctx context.Context, t *testing.T, db *outboxtest.Database, published map[string][]string) {
	for ctx.Err() == nil {
		err := pgx.BeginFunc(t.Context(), db.Pool, func(tx pgx.Tx) error {
			rows, err := tx.Query(t.Context(), l.publish)
			if err != nil {
				return err
			}
			collect(t, rows, published)
			return nil
		})
		if err != nil {
			t.Errorf("the old relay: %v", err)
			return
		}
	}
}

func collect(t *testing.T, rows pgx.Rows, into map[string][]string) {
	var key, n string
	_, err := pgx.ForEachRow(rows, []any{&key, &n}, func() error {
		into[key] = append(into[key], n)
		return nil
	})
	if err != nil {
		t.Errorf("read events: %v", err)
	}
}
