package reconcile

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/consumers/effects"
	"github.com/holdfast-dev/holdfast/consumers/facts"
)

// Record is one telling of the truth.
type Record struct {
	Account string
	// Key are the values of the parts of the key, by their names.
	Key map[string]string
	// Attributes are by their names; one that is absent is not told.
	Attributes map[string]string
	// Ref says where it stands, for people: a line, or the id of an event.
	Ref string
}

// Truth is a source of records.
type Truth interface {
	// Records gives every record, in any order, and ends with the first error.
	Records(ctx context.Context, each func(Record) error) error
	// Name says which truth it is, for people.
	Name() string
}

// TruthError is about a record that cannot be judged. Nothing was compared.
type TruthError struct {
	Ref, Reason string
	hint        string
}

func (e *TruthError) Error() string { return fmt.Sprintf("read truth: %s: %s", e.Ref, e.Reason) }

// Hint says what a person can do.
func (e *TruthError) Hint() string {
	if e.hint != "" {
		return e.hint
	}
	return "mend the export, or say with export or told of the description where the record has it; half a truth explains nothing"
}

// readFailed is about a truth that cannot be read: what it has is wrong, or reading it failed.
func readFailed(ref string, err error) error {
	var wrong *TruthError
	var line *csv.ParseError
	var syntax *json.SyntaxError
	var twice *twiceError
	switch {
	case errors.As(err, &wrong):
		return err
	case errors.As(err, &line), errors.As(err, &syntax), errors.As(err, &twice), errors.Is(err, errNoObject), errors.Is(err, errTooDeep):
		return &TruthError{Ref: ref, Reason: err.Error()}
	}
	return fmt.Errorf("read truth: %s: %w", ref, err)
}

// fieldOf is what a truth calls the account, a part of the key or an attribute.
func fieldOf(names map[string]string, name string) string {
	if other := names[name]; other != "" {
		return other
	}
	return name
}

// fields reads what a description wants of a record: lookup finds a field by name.
func fields(t effects.Table, names map[string]string, ref string, lookup func(field string) (string, bool)) (Record, error) {
	field := func(name string) string { return fieldOf(names, name) }
	r := Record{Key: map[string]string{}, Attributes: map[string]string{}, Ref: ref}
	var found bool
	if r.Account, found = lookup(field(effects.AccountField)); !found || r.Account == "" {
		return r, &TruthError{Ref: ref, Reason: fmt.Sprintf("has no %q, which is the account", field(effects.AccountField))}
	}
	for _, p := range t.Key {
		value, found := lookup(field(p.Name))
		if !found || value == "" {
			return r, &TruthError{Ref: ref, Reason: fmt.Sprintf("has no %q, which is the part %s of the key", field(p.Name), p.Name)}
		}
		r.Key[p.Name] = value
	}
	for name := range t.Attributes {
		if value, found := lookup(field(name)); found {
			r.Attributes[name] = value
		}
	}
	return r, nil
}

// keyOf makes the key of a record's fact, as the mapper of the service does.
func keyOf(t effects.Table, r Record) (string, error) {
	parts := make([]facts.Part, len(t.Key))
	for i, p := range t.Key {
		parts[i] = facts.ID(p.Name, r.Key[p.Name])
	}
	key, err := facts.NewKey(parts...)
	if err != nil {
		return "", &TruthError{Ref: r.Ref, Reason: err.Error()}
	}
	return key.String(), nil
}

// told is one text of all attributes, in the order of the description, for comparison only.
func told(names []string, value func(name string) (string, bool)) string {
	var b strings.Builder
	for _, name := range names {
		text, has := value(name)
		fmt.Fprintf(&b, "%t %d %s\n", has, len(text), text)
	}
	return b.String()
}

func attributeNames(t effects.Table) []string { return slices.Sorted(maps.Keys(t.Attributes)) }
