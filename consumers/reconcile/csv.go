package reconcile

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/consumers/effects"
)

func readCSV(ctx context.Context, e *export, each func(Record) error) error {
	text, _, err := e.text()
	if err != nil {
		return readFailed(e.name, err)
	}
	end := &ending{from: text}
	r := csv.NewReader(end)
	r.ReuseRecord = true
	heads, err := r.Read()
	if errors.Is(err, io.EOF) {
		return &TruthError{Ref: e.name, Reason: "is empty", hint: "an export of nothing has its line of headings; one without was not written to its end"}
	}
	if err != nil {
		return readFailed(e.name, err)
	}
	ref := lineRef(e.name, r)
	at, err := headings(e.t, ref, heads)
	if err != nil {
		return err
	}
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			if e.openEnd {
				return nil
			}
			return end.complete(ref)
		}
		if err != nil {
			return readFailed(e.name, err)
		}
		ref = lineRef(e.name, r)
		record, err := fields(e.t, e.t.Export, ref, func(field string) (string, bool) {
			if i, found := at[field]; found {
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

// lineRef is where the record begins that was read last.
func lineRef(name string, r *csv.Reader) string {
	line, _ := r.FieldPos(0)
	return fmt.Sprintf("%s line %d", name, line)
}

// headings returns where each column is. The columns that identify must be there, or a file without headings, or
// of other ones, would look like an export of nothing; and none that is compared may be there twice.
func headings(t effects.Table, ref string, heads []string) (map[string]int, error) {
	at := map[string]int{}
	twice := map[string]bool{}
	for i, head := range heads {
		if strings.Contains(head, "\r") {
			return nil, &TruthError{Ref: ref, Reason: "lines end with CR alone", hint: "write the export with LF or CRLF at the end of lines"}
		}
		if _, found := at[head]; found {
			twice[head] = true
		}
		at[head] = i
	}
	const hint = "the first line has the headings, separated by commas; say with export of the description what they are called"
	wanted := []string{fieldOf(t.Export, effects.AccountField)}
	if _, found := at[wanted[0]]; !found {
		return nil, &TruthError{Ref: ref, Reason: fmt.Sprintf("has no column %q, which is the account", wanted[0]), hint: hint}
	}
	for _, p := range t.Key {
		head := fieldOf(t.Export, p.Name)
		if _, found := at[head]; !found {
			return nil, &TruthError{Ref: ref, Reason: fmt.Sprintf("has no column %q, which is the part %s of the key", head, p.Name), hint: hint}
		}
		wanted = append(wanted, head)
	}
	for _, name := range slices.Sorted(maps.Keys(t.Attributes)) {
		wanted = append(wanted, fieldOf(t.Export, name))
	}
	for _, head := range wanted {
		if twice[head] {
			return nil, &TruthError{Ref: ref, Reason: fmt.Sprintf("has the column %q twice", head)}
		}
	}
	return at, nil
}

// ending remembers the last byte of what is read.
type ending struct {
	from io.Reader
	last byte
}

func (e *ending) Read(p []byte) (int, error) {
	n, err := e.from.Read(p)
	if n > 0 {
		e.last = p[n-1]
	}
	return n, err
}

// complete refuses a file whose last line has no end: a cell that was cut off looks like a shorter one.
func (e *ending) complete(ref string) error {
	if e.last == '\n' {
		return nil
	}
	return &TruthError{Ref: ref, Reason: "the file ends within it", hint: "get the whole export; if the provider ends no last line, say with --records how many records it tells, or add a line break once you know that this is all"}
}
