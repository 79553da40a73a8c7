package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// objects reads an export of objects.
type objects struct {
	e     *export
	d     *json.Decoder
	mark  int64 // bytes before those that d reads
	array bool
	n     int        // number of the record
	next  json.Token // first token of the record, if it was read already
}

func readJSON(ctx context.Context, e *export, each func(Record) error) error {
	text, mark, err := e.text()
	if err != nil {
		return readFailed(e.name, err)
	}
	o := &objects{e: e, d: json.NewDecoder(text), mark: mark}
	o.d.UseNumber()
	if err := o.begin(); err != nil {
		return err
	}
	for o.n = 1; o.next != nil || o.d.More(); o.n++ {
		object, err := o.object()
		if err != nil {
			return err
		}
		record, err := fields(e.t, e.t.Export, fmt.Sprintf("%s record %d", e.name, o.n), func(field string) (string, bool) { return member(object, field) })
		if err != nil {
			return err
		}
		if err := errors.Join(ctx.Err(), each(record)); err != nil {
			return err
		}
	}
	return o.end()
}

// begin finds out whether it is an array.
func (o *objects) begin() error {
	first, err := o.d.Token()
	switch {
	case errors.Is(err, io.EOF):
		return &TruthError{Ref: o.e.name, Reason: "is empty", hint: "an export of nothing is the empty array []; an empty file was not written to its end"}
	case err != nil:
		o.n = 1
		return o.wrong(o.here(), err)
	case first == json.Delim('['):
		o.array = true
	case first == nil:
		o.n = 1
		return o.wrong(1, errNoObject)
	default:
		o.next = first
	}
	return nil
}

// here is the place of the token that comes next, or of the bracket that was read last, from 1.
func (o *objects) here() int64 { return o.mark + o.d.InputOffset() + 1 }

// object reads the next one.
func (o *objects) object() (map[string]any, error) {
	at, token := o.here(), o.next
	if o.next = nil; token == nil {
		var err error
		if token, err = o.d.Token(); err != nil {
			return nil, o.wrong(at, err)
		}
	}
	if token != json.Delim('{') {
		return nil, o.wrong(at, errNoObject)
	}
	at = o.here() - 1
	object, err := members(o.d, 1)
	if err != nil {
		return nil, o.wrong(at, err)
	}
	return object, nil
}

// end makes sure that the array was whole, and that nothing is behind what was read.
func (o *objects) end() error {
	at := o.here()
	if o.array {
		if _, err := o.d.Token(); errors.Is(err, io.EOF) {
			return o.cut(at, "the file ends within the array")
		} else if err != nil {
			return o.wrong(at, err)
		}
		_ = o.d.More() // goes to what follows, if anything does
		at = o.here()
	}
	_, err := o.d.Token()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case o.array:
		return &TruthError{Ref: fmt.Sprintf("%s byte %d", o.e.name, at), Reason: "something follows the array", hint: "make one array of all objects, or write them one after the other without any"}
	case err == nil: // cannot be: what begins a value is a record
		err = errNoObject
	}
	return o.wrong(at, err)
}

var errNoObject = errors.New("is no object")

// wrong is an error about the record that is read. What ends too early was cut off.
func (o *objects) wrong(at int64, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return o.cut(at, "the file ends within it")
	}
	return readFailed(o.ref(at), err)
}

func (o *objects) cut(at int64, reason string) error {
	return &TruthError{Ref: o.ref(at), Reason: reason, hint: "the export was cut off: get the whole one"}
}

func (o *objects) ref(at int64) string {
	return fmt.Sprintf("%s record %d at byte %d", o.e.name, o.n, at)
}
