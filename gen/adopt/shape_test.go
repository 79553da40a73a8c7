package adopt_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/gen/adopt"
)

const flagTable = `CREATE TABLE outbox_events (
  id bigserial PRIMARY KEY, event_id uuid NOT NULL, aggregate_type text, aggregate_id text NOT NULL, event_type text NOT NULL, payload jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT '2026-11-29 10:00Z', published_at timestamptz, attempts int NOT NULL DEFAULT 0);
INSERT INTO outbox_events (event_id, aggregate_type, aggregate_id, event_type, payload, published_at) VALUES
  ('00000000-0000-7000-8000-000000000001', 'order', 'A-1', 'order.placed', '{"n": 1}', now()),
  ('00000000-0000-7000-8000-000000000002', 'order', 'A-1', 'order.paid',   '{"b":2,  "a":"ü"}', NULL),
  ('00000000-0000-7000-8000-000000000003', NULL,    'B-1', 'order.placed', '[]', NULL),
  ('00000000-0000-7000-8000-000000000004', 'order', 'A-1', 'order.sent',   '"x"', NULL);
`

const statusTable = `CREATE TYPE outbox_state AS ENUM ('PENDING', 'PUBLISHED', 'SENDING');
CREATE TABLE messages_outbox (
  seq bigint GENERATED ALWAYS AS IDENTITY, id text PRIMARY KEY, topic varchar(100) NOT NULL, key text, body text, headers json,
  status outbox_state NOT NULL DEFAULT 'PENDING', retry_count int, last_error text, updated_at timestamptz);
INSERT INTO messages_outbox (id, topic, key, body, headers, status) VALUES
  ('m1', 'order.placed', 'A-1', '{"n":1}', '{"tenant":"a"}', 'PUBLISHED'),
  ('m2', 'order.paid',   'A-1', ' { "n" : 2 } ', '{"tenant":"b","Correlation-Id":"c-2","null":null}', 'PENDING'),
  ('m3', 'order.placed', NULL,  NULL, NULL, 'PENDING');
`

const debeziumTable = `CREATE TABLE outboxevent (
  id uuid PRIMARY KEY, aggregatetype varchar(255) NOT NULL, aggregateid varchar(255) NOT NULL, type varchar(255) NOT NULL, payload jsonb, "timestamp" timestamptz);
INSERT INTO outboxevent VALUES
  ('00000000-0000-4000-8000-00000000000b', 'Order', 'A-1', 'OrderCreated', '{"n":1}', '2026-11-29 10:01Z'),
  ('00000000-0000-4000-8000-00000000000a', 'Order', 'A-1', 'OrderPaid', '{"n":2}', '2026-11-29 10:02Z');
`

const watermillTable = `CREATE TABLE "watermill_orders" (
  "offset" BIGSERIAL, "uuid" VARCHAR(36) NOT NULL, "created_at" TIMESTAMP NOT NULL DEFAULT '2026-11-29 11:00',
  "payload" JSON DEFAULT NULL, "metadata" JSON DEFAULT NULL, "transaction_id" xid8 NOT NULL, PRIMARY KEY ("transaction_id", "offset"));
CREATE TABLE "watermill_offsets_orders" (consumer_group VARCHAR(255) NOT NULL, offset_acked BIGINT, last_processed_transaction_id xid8 NOT NULL, PRIMARY KEY(consumer_group));
INSERT INTO "watermill_orders" (uuid, payload, metadata, transaction_id) VALUES
  ('u1', '{"n":1}', '{"name":"order.placed","order_id":"A-1"}', '100'),
  ('u2', '{"n" : 2}', '{"name":"order.paid","order_id":"A-1","tenant":"t"}', '102'),
  ('u3', '{"n":3}', '{"name":"order.sent","order_id":"A-1"}', '101');
INSERT INTO "watermill_offsets_orders" VALUES ('forwarder', 1, '100');
`

const copyTable = `CREATE SCHEMA events;
CREATE TABLE events.event_outbox (
  seq bigserial PRIMARY KEY, event_id text NOT NULL, source text NOT NULL, type text NOT NULL, subject text, "time" timestamptz, partition_key text,
  datacontenttype text, extensions jsonb NOT NULL DEFAULT '{}', data bytea, published_at timestamptz,
  hold_operation_id uuid, hold_generation int, tx xid8 DEFAULT pg_current_xact_id());
INSERT INTO events.event_outbox (event_id, source, type, partition_key, datacontenttype, extensions, data, published_at, hold_operation_id, hold_generation) VALUES
  ('e1', '/shop', 'order.placed', 'A-1', 'application/json', '{}', '{}', now(), NULL, NULL),
  ('e2', '/shop', 'order.paid', 'A-1', 'text/plain', '{"tenant":"a","retries":3,"test":true}', '\xc3bc', NULL, '00000000-0000-4000-8000-00000000000b', 2);
`

// lanesTable is a copy whose relay keeps its cursors as ours does.
const lanesTable = `CREATE SCHEMA events;
CREATE TABLE events.event_outbox (
  seq bigserial PRIMARY KEY, lane int NOT NULL DEFAULT 0, tx xid8 DEFAULT pg_current_xact_id(), event_id text NOT NULL, source text NOT NULL, type text NOT NULL,
  partition_key text, datacontenttype text, data bytea);
CREATE TABLE events.outbox_lane (relay_group text, lane int, drained pg_snapshot, target pg_snapshot, pos bigint);
INSERT INTO events.event_outbox (lane, tx, event_id, source, type, partition_key, datacontenttype, data) VALUES
  (0, '90', 'drained', '/shop', 'a', 'k', 'text/plain', '1'), (0, '101', 'paged', '/shop', 'a', 'k', 'text/plain', '2'),
  (0, '102', 'waits',  '/shop', 'a', 'k', 'text/plain', '3'), (1, '95', 'other', '/shop', 'a', 'm', 'text/plain', '4'),
  (0, '100', 'open',   '/shop', 'a', 'k', 'text/plain', '5');
INSERT INTO events.outbox_lane VALUES ('default', 0, '100:100:', '103:103:', 2), ('default', 1, '95:95:', NULL, NULL);
`

func TestShapes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		sql   string
		opts  adopt.Options
		shape adopt.Shape
		rows  int64
		want  []string
		// after reads what became of the old rows.
		after     string
		wantAfter []string
	}{
		{
			name: "flag", sql: flagTable, opts: adopt.Options{Constants: source}, shape: adopt.FlagTable, rows: 4,
			want: []string{
				`00000000-0000-7000-8000-000000000002 | /orders | order.paid | 10:00 | A-1 | application/json | {"aggregatetype": "order"} | {"a": "ü", "b": 2}`,
				`00000000-0000-7000-8000-000000000003 | /orders | order.placed | 10:00 | B-1 | application/json | []`,
				`00000000-0000-7000-8000-000000000004 | /orders | order.sent | 10:00 | A-1 | application/json | {"aggregatetype": "order"} | "x"`,
			},
			after: "SELECT id::text FROM outbox_events WHERE published_at IS NOT NULL ORDER BY id", wantAfter: []string{"1", "2", "3", "4"},
		},
		{
			name: "status", sql: statusTable, shape: adopt.StatusTable, rows: 3,
			opts: adopt.Options{
				Constants:  map[adopt.Attribute]string{adopt.Source: "/orders", adopt.DataContentType: "application/json"},
				Extensions: map[string]string{"correlationid": "headers.Correlation-Id"},
			},
			want: []string{
				`m2 | /orders | order.paid | A-1 | application/json | {"tenant": "b", "correlationid": "c-2"} |  { "n" : 2 } `,
				`m3 | /orders | order.placed | application/json`,
			},
			after: "SELECT id || status FROM messages_outbox ORDER BY id", wantAfter: []string{"m1PUBLISHED", "m2PUBLISHED", "m3PUBLISHED"},
		},
		{
			name: "debezium", sql: debeziumTable, shape: adopt.Debezium, rows: 2,
			opts: adopt.Options{Constants: source, Rows: adopt.RowsAll, Order: []string{"timestamp"}},
			want: []string{
				`00000000-0000-4000-8000-00000000000b | /orders | OrderCreated | 10:01 | A-1 | application/json | {"aggregatetype": "Order"} | {"n": 1}`,
				`00000000-0000-4000-8000-00000000000a | /orders | OrderPaid | 10:02 | A-1 | application/json | {"aggregatetype": "Order"} | {"n": 2}`,
			},
			after: "SELECT count(*)::text FROM outboxevent", wantAfter: []string{"2"},
		},
		{
			name: "debezium, all published", sql: debeziumTable, shape: adopt.Debezium, rows: 2,
			opts: adopt.Options{Constants: source, Rows: adopt.RowsNone, Order: []string{"timestamp"}},
		},
		{
			// Transaction 101 began before 102 and inserted after it: the offset tells the order.
			name: "watermill", sql: watermillTable, shape: adopt.Watermill, rows: 3,
			opts: adopt.Options{
				Constants: source, TimeZone: "Europe/Berlin",
				Columns: map[adopt.Attribute]string{adopt.Type: "metadata.name", adopt.PartitionKey: "metadata.order_id"},
			},
			want: []string{
				`u2 | /orders | order.paid | 10:00 | A-1 | application/json | {"tenant": "t"} | {"n" : 2}`,
				`u3 | /orders | order.sent | 10:00 | A-1 | application/json | {"n":3}`,
			},
			after: "SELECT concat(offset_acked, '/', last_processed_transaction_id) FROM watermill_offsets_orders", wantAfter: []string{"2/102"},
		},
		{
			name: "copy", sql: copyTable, shape: adopt.Copy, rows: 2,
			want:  []string{`e2 | /shop | order.paid | A-1 | text/plain | {"test": true, "tenant": "a", "retries": 3} | ü`},
			after: "SELECT concat(hold_operation_id, ' ', hold_generation) FROM outbox.event_outbox", wantAfter: []string{"00000000-0000-4000-8000-00000000000b 2"},
		},
		{
			name: "copy with cursors", sql: lanesTable, shape: adopt.Copy, rows: 5,
			want: []string{"waits | /shop | a | k | text/plain | 3", "other | /shop | a | m | text/plain | 4", "open | /shop | a | k | text/plain | 5"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			db := old(t, c.sql)
			a := move(t, db, c.opts)
			if a.Shape != c.shape || a.Rows != c.rows || a.Move != int64(len(c.want)) {
				t.Errorf("shape %s, %d rows, %d to move", a.Shape, a.Rows, a.Move)
			}
			if diff := cmp.Diff(c.want, lines(t, db, eventSQL)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if c.after != "" {
				if diff := cmp.Diff(c.wantAfter, lines(t, db, c.after)); diff != "" {
					t.Errorf("the old rows (-want +got):\n%s", diff)
				}
			}
		})
	}
}
