package outbox_test

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/cloudevents/sdk-go/v2/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// conformance is testdata/conformance.json, which says what its fields mean.
type conformance struct {
	Cases []conformanceCase `json:"cases"`
}

type conformanceCase struct {
	Name           string
	Only           string
	ExtensionTypes map[string]string `json:"extension_types"`
	Before         []call
	Call           call
	Row            map[string]any
	Error          *refusal
}

// call is a function of the schema with its arguments by name.
type call struct {
	Function  string
	Arguments map[string]any
}

// refusal is an error as every language sees it.
type refusal struct {
	SQLState string
	Detail   string
}

func loadConformance(t *testing.T) []conformanceCase {
	t.Helper()
	text, err := os.ReadFile("testdata/conformance.json")
	if err != nil {
		t.Fatal(err)
	}
	var c conformance
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatalf("parse testdata/conformance.json: %v", err)
	}
	if len(c.Cases) < 100 {
		t.Fatalf("testdata/conformance.json has only %d cases", len(c.Cases))
	}
	return c.Cases
}

// readRow is the row that a case left, in the shape in which the fixture expects it.
const readRow = `
SELECT jsonb_build_object(
  'event_id', event_id, 'source', source, 'type', type, 'subject', subject,
  'time', CASE WHEN time BETWEEN now() AND clock_timestamp() THEN '$clock'
               ELSE regexp_replace(to_char(time AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), '\.?0+Z$', 'Z') END,
  'datacontenttype', datacontenttype, 'dataschema', dataschema, 'partition_key', partition_key, 'extensions', extensions::text,
  'data', CASE WHEN data IS NOT NULL THEN jsonb_build_object('bytes', octet_length(data), 'sha256', encode(sha256(data), 'hex')) END,
  'held', tx IS NULL, 'hold_operation_id', hold_operation_id, 'hold_generation', hold_generation)::text
  FROM outbox.event_outbox`

// checkRow compares a row, once what the database chose has been judged.
func (c conformanceCase) checkRow(t *testing.T, text, operation string) {
	t.Helper()
	if c.Error != nil {
		t.Fatalf("accepted, want %+v", *c.Error)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("read the row: %v\n%s", err, text)
	}
	want := maps.Clone(c.Row)
	if want["event_id"] == "$uuidv7" {
		id, err := uuid.Parse(fmt.Sprint(got["event_id"]))
		if err != nil || id.Version() != 7 {
			t.Errorf("event_id is %v, want a UUIDv7", got["event_id"])
		}
		want["event_id"] = got["event_id"]
	}
	if want["hold_operation_id"] == nil {
		want["hold_operation_id"], want["hold_generation"] = nil, nil
	} else {
		want["hold_operation_id"] = operation
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("row (-want +got):\n%s", diff)
	}
}

func (c conformanceCase) checkError(t *testing.T, got refusal, err any) {
	t.Helper()
	if c.Error == nil {
		t.Fatalf("refused: %v", err)
	}
	want := *c.Error
	if want.Detail == "" {
		got.Detail = ""
	}
	if got != want {
		t.Errorf("refused with %+v, want %+v: %v", got, want, err)
	}
}

// refusalOf translates the typed errors of the package back to what SQL says.
func refusalOf(err error) refusal {
	var invalid *outbox.InvalidEventError
	var argument *outbox.InvalidArgumentError
	var refused *outbox.HoldRefusedError
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &invalid):
		return refusal{"HF001", "field=" + invalid.Field}
	case errors.As(err, &argument):
		return refusal{"HF002", "field=" + argument.Argument}
	case errors.As(err, &refused):
		codes := map[string]string{outbox.StateUnknown: "HF010", outbox.StateCancelled: "HF011", outbox.StateReleased: "HF012", outbox.StateSuperseded: "HF013"}
		return refusal{codes[refused.State], fmt.Sprintf("state=%s max_generation=%d", refused.State, refused.MaxGeneration)}
	case errors.As(err, &pg):
		return refusal{pg.Code, pg.Detail}
	}
	return refusal{"none", err.Error()}
}

// setup returns the SQL of what comes before the call.
func (c conformanceCase) setup(operation string) string {
	var b strings.Builder
	for _, step := range c.Before {
		b.WriteString(step.literal(operation) + ";\n")
	}
	return b.String()
}

// TestConformanceGo runs the cases through the Go functions: pgx in each of its modes,
// and database/sql.
func TestConformanceGo(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec,
		pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		pool := poolWith(t, db.URL, mode)
		for _, c := range loadConformance(t) {
			if c.Only == "sql" {
				continue
			}
			t.Run("pgx/"+mode.String()+"/"+c.Name, func(t *testing.T) { c.runPgx(t, pool) })
		}
	}
	handle := stdlib.OpenDBFromPool(db.Pool)
	t.Cleanup(func() { closeHandle(t, handle) })
	for _, c := range loadConformance(t) {
		if c.Only == "sql" {
			continue
		}
		t.Run("database-sql/"+c.Name, func(t *testing.T) { c.runSQL(t, handle) })
	}
}

func (c conformanceCase) runPgx(t *testing.T, pool *pgxpool.Pool) {
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer rollback(t, tx.Rollback)
	operation := uuid.New()
	if _, err := tx.Exec(t.Context(), c.setup(operation.String())); err != nil {
		t.Fatalf("set up: %v", err)
	}
	_, err = c.stage(operation, func(e event.Event, hold *outbox.Hold) ([]string, error) {
		if hold != nil {
			return outbox.PublishTxHeld(t.Context(), tx, *hold, e)
		}
		return outbox.PublishTx(t.Context(), tx, e)
	})
	if err != nil {
		c.checkError(t, refusalOf(err), err)
		return
	}
	var row string
	if err := tx.QueryRow(t.Context(), readRow).Scan(&row); err != nil {
		t.Fatal(err)
	}
	c.checkRow(t, row, operation.String())
}

func (c conformanceCase) runSQL(t *testing.T, handle *sql.DB) {
	tx, err := handle.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer rollback(t, func(context.Context) error { return tx.Rollback() })
	operation := uuid.New()
	if _, err := tx.ExecContext(t.Context(), c.setup(operation.String())); err != nil {
		t.Fatalf("set up: %v", err)
	}
	_, err = c.stage(operation, func(e event.Event, hold *outbox.Hold) ([]string, error) {
		if hold != nil {
			return outbox.PublishSQLTxHeld(t.Context(), tx, *hold, e)
		}
		return outbox.PublishSQLTx(t.Context(), tx, e)
	})
	if err != nil {
		c.checkError(t, refusalOf(err), err)
		return
	}
	var row string
	if err := tx.QueryRowContext(t.Context(), readRow).Scan(&row); err != nil {
		t.Fatal(err)
	}
	c.checkRow(t, row, operation.String())
}

// stage turns the call into Go values.
func (c conformanceCase) stage(operation uuid.UUID, publish func(event.Event, *outbox.Hold) ([]string, error)) ([]string, error) {
	e := goEvent(c.Call.Arguments, c.ExtensionTypes)
	if c.Call.Function != "publish_held" {
		return publish(e, nil)
	}
	hold := outbox.Hold{Operation: operation}
	if c.Call.Arguments["operation"] == nil {
		hold.Operation = uuid.Nil
	}
	if generation, ok := c.Call.Arguments["generation"].(float64); ok {
		hold.Generation = int(generation)
	}
	return publish(e, &hold)
}

// goEvent builds the event from the fields of the SDK's types, because its setters trim,
// escape and lower what they are given.
func goEvent(args map[string]any, extensionTypes map[string]string) event.Event {
	text := func(name string) *string {
		if s, ok := args[name].(string); ok {
			return &s
		}
		return nil
	}
	attributes := &event.EventContextV1{Subject: text("subject"), DataContentType: text("datacontenttype")}
	if s := text("id"); s != nil {
		attributes.ID = *s
	}
	if s := text("source"); s != nil {
		attributes.Source = types.URIRef{URL: url.URL{Opaque: *s}}
	}
	if s := text("type"); s != nil {
		attributes.Type = *s
	}
	if s := text("dataschema"); s != nil {
		attributes.DataSchema = &types.URI{URL: url.URL{Opaque: *s}}
	}
	if s := text("time"); s != nil {
		at, err := time.Parse(time.RFC3339Nano, *s)
		if err != nil {
			panic(fmt.Sprintf("case needs only=sql: %v", err))
		}
		attributes.Time = &types.Timestamp{Time: at}
	}
	if s := text("extensions"); s != nil {
		attributes.Extensions = goExtensions(*s, extensionTypes)
	}
	if s := text("partitionkey"); s != nil {
		if attributes.Extensions == nil {
			attributes.Extensions = map[string]any{}
		}
		attributes.Extensions["partitionkey"] = *s
	}
	return event.Event{Context: attributes, DataEncoded: payload(args["data"])}
}

func goExtensions(object string, extensionTypes map[string]string) map[string]any {
	decoder := json.NewDecoder(strings.NewReader(object))
	decoder.UseNumber()
	var extensions map[string]any
	if err := decoder.Decode(&extensions); err != nil {
		panic(fmt.Sprintf("case needs only=sql: %v", err))
	}
	for name, v := range extensions {
		if number, ok := v.(json.Number); ok {
			extensions[name] = goNumber(number)
			continue
		}
		s, _ := v.(string)
		switch extensionTypes[name] {
		case "binary":
			extensions[name], _ = base64.StdEncoding.DecodeString(s)
		case "uri":
			extensions[name] = *types.ParseURI(s)
		case "uri-reference":
			extensions[name] = *types.ParseURIRef(s)
		case "timestamp":
			at, _ := types.ParseTimestamp(s)
			extensions[name] = *at
		}
	}
	return extensions
}

func goNumber(number json.Number) any {
	if n, err := number.Int64(); err == nil {
		return n
	}
	f, _ := number.Float64()
	return f
}

// payload returns the bytes of a data argument, nil for none.
func payload(data any) []byte {
	d, ok := data.(map[string]any)
	if !ok {
		return nil
	}
	if text, ok := d["text"].(string); ok {
		return []byte(text)
	}
	if encoded, ok := d["base64"].(string); ok {
		decoded, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			panic(err)
		}
		return decoded
	}
	unit, _ := d["repeat"].(string)
	count, _ := d["count"].(float64)
	return []byte(strings.Repeat(unit, int(count)))
}

// names returns the arguments in a fixed order.
func (c call) names() []string { return slices.Sorted(maps.Keys(c.Arguments)) }
