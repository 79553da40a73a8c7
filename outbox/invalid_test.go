package outbox_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/cloudevents/sdk-go/v2/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// faults returns every InvalidEventError in the tree of an error.
func faults(err error) []outbox.InvalidEventError {
	switch e := err.(type) {
	case *outbox.InvalidEventError:
		return []outbox.InvalidEventError{*e}
	case interface{ Unwrap() error }:
		return faults(e.Unwrap())
	case interface{ Unwrap() []error }:
		var all []outbox.InvalidEventError
		for _, child := range e.Unwrap() {
			all = append(all, faults(child)...)
		}
		return all
	}
	return nil
}

func TestAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	bad := newEvent("bad")
	bad.SetType("order placed")
	bad.SetSubject("a\nb")
	bad.SetExtension("note", "\u0085")
	bad.SetExtension("abcdefghij0123456789a", 1)
	bad.DataEncoded = make([]byte, 1_000_001)
	nameless := event.New()
	var tx recorder
	_, err := outbox.PublishTx(t.Context(), &tx, newEvent("good"), bad, newEvent("good too"), nameless)
	want := []outbox.InvalidEventError{
		{Index: 1, ID: "bad", Field: "type"},
		{Index: 1, ID: "bad", Field: "subject"},
		{Index: 1, ID: "bad", Field: "data", Problem: "has 1000001 bytes, more than 1000000"},
		{Index: 1, ID: "bad", Field: "extension 'abcdefghij0123456789a'"},
		{Index: 1, ID: "bad", Field: "extension 'note'", Problem: "has control characters"},
		{Index: 3, Field: "source"},
		{Index: 3, Field: "type"},
	}
	got := faults(err)
	for i := range got {
		if got[i].Hint() == "" || got[i].Problem == "" {
			t.Errorf("%v has problem %q and hint %q", &got[i], got[i].Problem, got[i].Hint())
		}
		if i < len(want) && want[i].Problem == "" {
			got[i].Problem = ""
		}
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(outbox.InvalidEventError{})); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	if tx.calls != 0 {
		t.Error("something was sent")
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	if want := `publish events: event 1 ("bad"): type: must be dotted`; !strings.HasPrefix(first, want) {
		t.Errorf("message is %q, want it to begin with %q", first, want)
	}
}

// TestFaultLeavesTheTransaction: what was refused here never reached the server.
func TestFaultLeavesTheTransaction(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	err := pgx.BeginFunc(t.Context(), db.Pool, func(tx pgx.Tx) error {
		var invalid *outbox.InvalidEventError
		if _, err := outbox.PublishTx(t.Context(), tx, newEvent("good"), event.New()); !errors.As(err, &invalid) {
			t.Errorf("error is %v", err)
		}
		_, err := outbox.PublishTx(t.Context(), tx, newEvent("good"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	wantIDs(t, db.Pool, "good")
}

// TestSDKFaults: the setters of the SDK keep their errors in the event.
func TestSDKFaults(t *testing.T) {
	t.Parallel()
	empty, source, schema, extension, value := newEvent("1"), newEvent("2"), newEvent("3"), newEvent("4"), newEvent("5")
	empty.SetID(" ")
	source.SetSource("http://user:secret@[::1")
	schema.SetDataSchema("%zz:")
	extension.SetExtension("x_y", "v")
	value.SetExtension("note", struct{}{})
	v03 := event.New(event.CloudEventsVersionV03)
	v2 := event.New("2.0")
	var nothing event.Event
	typedNil := event.Event{Context: (*event.EventContextV1)(nil)}
	for _, c := range []struct {
		name   string
		event  event.Event
		fields []string
	}{
		{"empty id", empty, []string{"id"}},
		{"bad source", source, []string{"source"}},
		{"bad dataschema", schema, []string{"dataschema"}},
		{"extension name", extension, []string{"extension 'x_y'"}},
		{"extension value", value, []string{"extension 'note'"}},
		{"version 0.3", v03, []string{"specversion"}},
		{"version 2.0", v2, []string{"specversion"}},
		{"zero event", nothing, []string{"source", "type"}},
		{"event without attributes", typedNil, []string{"source", "type"}},
	} {
		var tx recorder
		_, err := outbox.PublishTx(t.Context(), &tx, c.event)
		var fields []string
		for _, fault := range faults(err) {
			fields = append(fields, fault.Field)
		}
		if diff := cmp.Diff(c.fields, fields); diff != "" {
			t.Errorf("%s: fields (-want +got):\n%s", c.name, diff)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error gives a secret away: %v", c.name, err)
		}
		if tx.calls != 0 {
			t.Errorf("%s: was sent", c.name)
		}
	}
}

func TestExtensionValues(t *testing.T) {
	t.Parallel()
	note := "by pointer"
	at := time.Date(2026, 11, 29, 11, 0, 0, 123456789, time.FixedZone("", 3600))
	e := newEvent("x")
	e.SetExtension("bool", true)
	e.SetExtension("int", 5)
	e.SetExtension("binary", []byte{0, 255})
	e.SetExtension("uri", types.ParseURI("https://example.com/a b"))
	e.SetExtension("ref", types.URIRef{})
	e.SetExtension("time", at) // the attribute's name: refused by the SDK
	delete(e.FieldErrors, "extension:time")
	e.SetExtension("at", at)
	attributes, _ := e.Context.(*event.EventContextV1)
	attributes.Extensions["whole"] = 3.0
	attributes.Extensions["small"] = uint8(7)
	attributes.Extensions["pointer"] = &note
	attributes.Extensions["partitionkey"] = int32(42) // canonical string form
	var tx recorder
	if _, err := outbox.PublishTx(t.Context(), &tx, e); err != nil {
		t.Fatal(err)
	}
	extensions, _ := tx.args[8].([]*string)
	keys, _ := tx.args[7].([]*string)
	want := `{"at": "2026-11-29T10:00:00.123456789Z", "int": 5, "ref": "", "uri": "https://example.com/a%20b", "bool": true, ` +
		`"small": 7, "whole": 3, "binary": "AP8=", "pointer": "by pointer"}`
	if diff := cmp.Diff([]string{want, "42"}, []string{*extensions[0], *keys[0]}); diff != "" {
		t.Errorf("extensions and key (-want +got):\n%s", diff)
	}
	for name, v := range map[string]any{
		"fraction": 1.5, "float": float32(0.1), "large": int64(1 << 31), "nothing": nil, "nilpointer": (*types.URI)(nil), "struct": struct{}{},
	} {
		bad := newEvent("x")
		bad.Context.(*event.EventContextV1).Extensions = map[string]any{name: v}
		_, err := outbox.PublishTx(t.Context(), &tx, bad)
		if got := faults(err); len(got) != 1 || got[0].Field != "extension '"+name+"'" {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

// TestHostileExtensions: no header of the broker can be made of an extension.
func TestHostileExtensions(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Nats-Trace-Dest", "nats-trace-dest", "Nats-Rollup", "ce-id", "a b", "a:b", "é", "Traceparent"} {
		e := newEvent("x")
		e.Context.(*event.EventContextV1).Extensions = map[string]any{name: "all"}
		var tx recorder
		if _, err := outbox.PublishTx(t.Context(), &tx, e); len(faults(err)) != 1 || tx.calls != 0 {
			t.Errorf("extension %q: error is %v", name, err)
		}
	}
}
