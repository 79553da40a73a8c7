package outbox_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// TestAgreement: for random events the Go code, the CHECK constraints of the table and the
// SQL function publish accept the same, and what they accept they store alike.
func TestAgreement(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	tx, err := db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer rollback(t, tx.Rollback)
	if _, err := tx.Exec(t.Context(), "SAVEPOINT before"); err != nil {
		t.Fatal(err)
	}
	accepted, total := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		for range 20 { // a check costs little more than a draw
			raw := drawEvent(rt)
			total++
			if agree(t.Context(), rt, tx, raw) {
				accepted++
			}
		}
	})
	if accepted*10 < total || accepted*10 > total*9 {
		t.Errorf("%d of %d events were accepted: the generator has lost its edge", accepted, total)
	}
}

// rawEvent has the arguments of publish, as text, and extensions as Go values.
type rawEvent struct {
	args       map[string]any // absent or a string; data is []byte
	extensions map[string]any
}

func (raw rawEvent) text(name string) *string {
	if s, ok := raw.args[name].(string); ok {
		return &s
	}
	return nil
}

// agree asks all three, each on an empty outbox.
func agree(ctx context.Context, rt *rapid.T, tx pgx.Tx, raw rawEvent) bool {
	e := goEvent(raw.args, nil)
	e.DataEncoded, _ = raw.args["data"].([]byte)
	attributes, _ := e.Context.(*event.EventContextV1)
	for name, v := range raw.extensions {
		if attributes.Extensions == nil {
			attributes.Extensions = map[string]any{}
		}
		attributes.Extensions[name] = v
	}
	var goTx recorder
	_, goErr := outbox.PublishTx(ctx, &goTx, e)

	object := jsonObject(raw.extensions)
	args := []any{raw.text("source"), raw.text("type"), e.DataEncoded, raw.text("id"), raw.text("subject"), raw.text("time"),
		raw.text("datacontenttype"), raw.text("dataschema"), raw.text("partitionkey"), nil}
	if raw.extensions != nil {
		args[9] = object
	}
	rowBySQL, sqlErr := storedBy(ctx, rt, tx, "SELECT outbox.publish($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)", args...)
	_, checkErr := storedBy(ctx, rt, tx, `INSERT INTO outbox.event_outbox
		(source, type, data, event_id, subject, time, datacontenttype, dataschema, partition_key, extensions)
		VALUES ($1, $2, $3, coalesce($4, 'made'), $5, $6::text::timestamptz, $7, $8, $9, coalesce($10::text::jsonb, '{}'))`, args...)
	if (goErr == nil) != (sqlErr == nil) || (goErr == nil) != (checkErr == nil) {
		rt.Fatalf("event %q extensions %s\nGo:     %v\nSQL:    %v\nCHECKs: %v", raw.args, object, goErr, sqlErr, checkErr)
	}
	if goErr != nil {
		return false
	}
	rowByGo, err := storedBy(ctx, rt, tx, goTx.sql, goTx.args...)
	if err != nil || rowByGo != rowBySQL {
		rt.Fatalf("event %q extensions %s\nby Go:  %s (%v)\nby SQL: %s", raw.args, object, rowByGo, err, rowBySQL)
	}
	// The size that Go checks is right only if its text is that of jsonb.
	if column, _ := goTx.args[8].([]*string); column != nil && !strings.Contains(rowByGo, "\n"+*column[0]+"\n") {
		rt.Fatalf("extensions were sent as %s and stored as %s", *column[0], rowByGo)
	}
	return true
}

const readStored = `SELECT concat_ws(E'\n', source, type, subject, time AT TIME ZONE 'UTC', datacontenttype, dataschema, partition_key, extensions::text, encode(sha256(data), 'hex'))
  FROM outbox.event_outbox`

// storedBy runs a statement, reads the row that it left, and goes back to the savepoint.
// What the database chooses is not part of the text.
func storedBy(ctx context.Context, rt *rapid.T, tx pgx.Tx, statement string, args ...any) (row string, err error) {
	defer func() {
		if _, undo := tx.Exec(ctx, "ROLLBACK TO SAVEPOINT before"); undo != nil {
			rt.Fatal(undo)
		}
	}()
	if _, err := tx.Exec(ctx, statement, args...); err != nil {
		return "", err
	}
	err = tx.QueryRow(ctx, readStored).Scan(&row)
	return row, err
}

// jsonObject writes extensions so that the database sees the bytes that Go saw: raw where
// JSON allows it, escaped where it must be.
func jsonObject(extensions map[string]any) string {
	var members []string
	for _, name := range slices.Sorted(maps.Keys(extensions)) {
		text := fmt.Sprint(extensions[name])
		switch v := extensions[name].(type) {
		case nil:
			text = "null"
		case string:
			text = rawJSON(v)
		case []any:
			text = "[]"
		}
		members = append(members, rawJSON(name)+":"+text)
	}
	return "{" + strings.Join(members, ",") + "}"
}

func rawJSON(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ':
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String() + `"`
}

// drawEvent starts from an event that all accept and changes up to two things.
func drawEvent(rt *rapid.T) rawEvent {
	raw := rawEvent{args: map[string]any{
		"id": "id", "source": "/s", "type": "a.b", "time": "2026-11-29T10:00:00Z", "data": []byte("{}"),
	}}
	for range rapid.IntRange(0, 2).Draw(rt, "changes") {
		name := rapid.SampledFrom([]string{
			"id", "source", "type", "subject", "time", "datacontenttype", "dataschema", "partitionkey", "data",
			"extensions", "extensions", "extensions",
		}).Draw(rt, "attribute")
		switch name {
		case "time":
			raw.args[name] = drawTime(rt).Format(time.RFC3339Nano)
		case "data":
			size := rapid.SampledFrom([]int{0, 1, 999_999, 1_000_000, 1_000_001}).Draw(rt, "size")
			raw.args[name] = make([]byte, size)
		case "extensions":
			raw.extensions = drawExtensions(rt)
		default:
			raw.args[name] = drawText(rt, name)
		}
	}
	if raw.args["id"] == "" { // Go makes an id, SQL refuses: by design
		delete(raw.args, "id")
	}
	return raw
}

var patterns = map[string]string{
	"type":            `[!-~]{1,3}(\.[!-~]{1,3}){0,2}`,
	"datacontenttype": `[!-~]{1,3}/[!-~]{1,3}( ?;[ -~]{0,3})?`,
	"dataschema":      `[a-zA-Z0-9+.:-]{0,3}:[!-~é]{0,3}`,
}

// edges are characters on both sides of a rule.
var edges = []rune{0, 1, '\t', '\n', '\r', 0x1f, ' ', '!', '"', '#', '$', '%', '*', '+', ',', '.', '/', ':', ';', '<', '=', '>', '?', '@',
	'\\', '^', '`', '{', '|', '}', '~', 0x7f, 0x80, 0x85, 0x9f, 0xa0, 'é', 'ß', 0x2028, 0xfeff, 0xfffd, 0xfffe, 0xffff, 0x1f600, 0x10ffff}

func drawText(rt *rapid.T, name string) string {
	any := rapid.StringOfN(rapid.RuneFrom(edges), 0, 6, -1)
	generators := []*rapid.Generator[string]{
		any,
		rapid.Custom(func(rt *rapid.T) string { // beside a limit, in bytes
			limit := rapid.SampledFrom([]int{255, 1024}).Draw(rt, "limit") + rapid.IntRange(-1, 1).Draw(rt, "beside")
			prefix := rapid.SampledFrom([]string{"", "a:", "a/", "é", "😀"}).Draw(rt, "prefix")
			return prefix + strings.Repeat("x", limit-len(prefix))
		}),
		rapid.Custom(func(rt *rapid.T) string { return string(rapid.SliceOfN(rapid.Byte(), 0, 6).Draw(rt, "bytes")) }),
		rapid.Custom(func(rt *rapid.T) string { return "a:" + any.Draw(rt, "after") }),
		rapid.Custom(func(rt *rapid.T) string { return "a/b;" + any.Draw(rt, "after") }),
	}
	if pattern := patterns[name]; pattern != "" {
		generators = append(generators, rapid.StringMatching(pattern), rapid.StringMatching(pattern))
	}
	return rapid.OneOf(generators...).Draw(rt, name)
}

func drawTime(rt *rapid.T) time.Time {
	base := rapid.SampledFrom([]time.Time{
		time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999_999_500, time.UTC),
		time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC), time.Date(99, 2, 28, 0, 0, 0, 0, time.UTC), time.Date(1900, 2, 28, 23, 59, 59, 0, time.UTC),
	}).Draw(rt, "base")
	at := base.Add(time.Duration(rapid.Int64Range(-2_000, 2_000).Draw(rt, "beside"))).
		Add(time.Duration(rapid.Int64Range(-1, 1).Draw(rt, "days")) * 24 * time.Hour)
	if at.Year() < 0 || at.Year() > 9999 || at.IsZero() {
		return time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC) // the other has no RFC 3339 text, or is absent in Go
	}
	return at
}

func drawExtensions(rt *rapid.T) map[string]any {
	extensions := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(rt, "extensions") {
		name := rapid.OneOf(
			rapid.StringMatching(`[a-z0-9]{1,20}`), rapid.StringMatching(`[a-z0-9]{1,20}`), rapid.StringMatching(`[a-zA-Z0-9_-]{0,22}`),
			rapid.SampledFrom([]string{"id", "source", "type", "specversion", "subject", "time", "datacontenttype", "dataschema", "data", "é"}),
		).Draw(rt, "name")
		extensions[name] = drawValue(rt)
	}
	if rapid.IntRange(0, 3).Draw(rt, "fill") == 0 { // up to the limit of all together
		free := 8192 - len(`{"filler": ""}`)
		for name, v := range extensions {
			free -= len(name) + len(fmt.Sprint(v)) + len(`, "": ""`)
		}
		text := strings.Repeat("x", max(free+rapid.IntRange(-6, 6).Draw(rt, "beside"), 0))
		extensions["filler"] = rapid.SampledFrom([]string{"", `"`, `\`, "é"}).Draw(rt, "first") + text
	}
	return extensions
}

func drawValue(rt *rapid.T) any {
	switch rapid.IntRange(0, 6).Draw(rt, "kind") {
	case 0:
		return rapid.Bool().Draw(rt, "bool")
	case 1:
		return rapid.SampledFrom([]any{nil, []any{}, 1.5, int64(1) << 31, -int64(1)<<31 - 1}).Draw(rt, "odd")
	case 2:
		return int64(rapid.Int32().Draw(rt, "int"))
	case 3:
		return rapid.String().Draw(rt, "string")
	}
	return drawText(rt, "value")
}
