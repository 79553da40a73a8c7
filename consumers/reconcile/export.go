package reconcile

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/consumers/effects"
)

// export is a provider's file.
type export struct {
	name string
	from io.Reader
	t    effects.Table
	read func(ctx context.Context, e *export, each func(Record) error) error
}

func (e *export) Name() string { return e.name }

func (e *export) Records(ctx context.Context, each func(Record) error) error {
	return e.read(ctx, e, each)
}

// CSV is an export with a line of headings, in RFC 4180. It is read once.
func CSV(name string, from io.Reader, t effects.Table) Truth {
	return &export{name, from, t.WithDefaults(), readCSV}
}

// JSON is an export of objects: an array of them, or one after the other. It is read once. Numbers are
// compared as they are written.
func JSON(name string, from io.Reader, t effects.Table) Truth {
	return &export{name, from, t.WithDefaults(), readJSON}
}

func readCSV(ctx context.Context, e *export, each func(Record) error) error {
	r := csv.NewReader(skipMark(e.from))
	r.ReuseRecord = true
	heads, err := r.Read()
	if errors.Is(err, io.EOF) {
		return &TruthError{e.name, "is empty: it has no line of headings"}
	}
	if err != nil {
		return &TruthError{e.name, err.Error()}
	}
	heads = slices.Clone(heads)
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return &TruthError{e.name, err.Error()}
		}
		line, _ := r.FieldPos(0)
		record, err := fields(e.t, e.t.Export, fmt.Sprintf("%s line %d", e.name, line), func(field string) (string, bool) {
			if i := slices.Index(heads, field); i >= 0 {
				return cells[i], true
			}
			return "", false
		})
		if err != nil {
			return err
		}
		if err := errors.Join(ctx.Err(), each(record)); err != nil {
			return err
		}
	}
}

// skipMark leaves out the byte order mark that spreadsheets write.
func skipMark(r io.Reader) io.Reader {
	b := bufio.NewReader(r)
	if head, err := b.Peek(3); err == nil && bytes.Equal(head, []byte("\xef\xbb\xbf")) {
		_, _ = b.Discard(3) // it is in the buffer
	}
	return b
}

func readJSON(ctx context.Context, e *export, each func(Record) error) error {
	b := bufio.NewReader(skipMark(e.from))
	array, err := beginsArray(b)
	if err != nil {
		return fmt.Errorf("read truth: %s: %w", e.name, err)
	}
	d := json.NewDecoder(b)
	d.UseNumber()
	if array {
		if _, err := d.Token(); err != nil {
			return &TruthError{e.name, err.Error()}
		}
	}
	n := 1
	for ; d.More(); n++ {
		ref := fmt.Sprintf("%s record %d", e.name, n)
		var object map[string]any
		if err := d.Decode(&object); err != nil {
			return &TruthError{ref, err.Error()}
		}
		record, err := fields(e.t, e.t.Export, ref, func(field string) (string, bool) { return member(object, field) })
		if err != nil {
			return err
		}
		if err := errors.Join(ctx.Err(), each(record)); err != nil {
			return err
		}
	}
	// An array that was cut off must not look like a short one.
	if _, err := d.Token(); array && err != nil || !array && !errors.Is(err, io.EOF) {
		return &TruthError{fmt.Sprintf("%s record %d", e.name, n), "the file ends before its end"}
	}
	return nil
}

func beginsArray(b *bufio.Reader) (bool, error) {
	for {
		c, err := b.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return false, nil
		case err != nil:
			return false, err
		case strings.IndexByte(" \t\r\n", c) < 0:
			return c == '[', b.UnreadByte()
		}
	}
}

// member finds a member by its path, and gives it as text. null is absent.
func member(object map[string]any, path string) (string, bool) {
	head, rest, deeper := strings.Cut(path, ".")
	switch value := object[head].(type) {
	case map[string]any:
		if deeper {
			return member(value, rest)
		}
	case string:
		return value, !deeper
	case json.Number:
		return value.String(), !deeper
	case bool:
		return fmt.Sprint(value), !deeper
	}
	return "", false
}
