package effects

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/consumers/facts"
)

// Error says everything that is wrong with a description.
type Error struct{ Problems []string }

func (e *Error) Error() string { return "describe effects: " + strings.Join(e.Problems, "; ") }

// Hint says what a person can do.
func (e *Error) Hint() string { return "docs/effects.md has every field with an example" }

type problems []string

func (p *problems) check(ok bool, format string, args ...any) {
	if !ok {
		*p = append(*p, fmt.Sprintf(format, args...))
	}
}

func (p problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return &Error{p}
}

// Validate judges a description by itself; [Inspect] compares it with the database. Errors: [*Error].
func (t Table) Validate() error {
	var p problems
	p.check(text(t.Group, 64), "group: must be 1 to 64 bytes")
	p.check(relation(t.Table), "table %q: must be a name, or schema and name", t.Table)
	p.check(text(t.Type, 255), "type: must be 1 to 255 bytes")
	p.check(text(t.Source, 512), "source: must be 1 to 512 bytes")
	p.check(text(t.Index, 63), "index: must be a name of 1 to 63 bytes")
	p.check(len(t.Key) > 0, "key: needs a part")
	names := []string{}
	for _, part := range t.Key {
		// The rules of a key are those of the mapper: what changes between deliveries is refused.
		_, err := facts.NewKey(facts.ID(part.Name, "x"))
		p.check(err == nil, "key: %v", err)
		p.check(!slices.Contains(names, part.Name), "key: part %q stands there twice", part.Name)
		names = append(names, part.Name)
	}
	for _, column := range t.Columns() {
		p.check(text(column, 63), "column %q: must be a name of 1 to 63 bytes", column)
	}
	for _, r := range t.References {
		p.check(relation(r.Table) && text(r.Column, 63), "reference %q of table %q: must name both", r.Column, r.Table)
	}
	for _, e := range t.Events {
		p.check(text(e.Type, 255), "events: type must be 1 to 255 bytes")
	}
	for where, fields := range t.truths() {
		for name := range fields {
			_, attribute := t.Attributes[name]
			p.check(name == AccountField || attribute || slices.Contains(names, name), "%s: %q is neither account, nor a part of the key, nor an attribute", where, name)
		}
	}
	t.validateReversal(&p)
	return p.err()
}

// AccountField is the name by which Export and Told speak of the account.
const AccountField = "account"

func (t Table) truths() map[string]map[string]string {
	all := map[string]map[string]string{"export": t.Export}
	for eventType, fields := range t.Told {
		all["told "+eventType] = fields
	}
	return all
}

func (t Table) validateReversal(p *problems) {
	r := t.Reversal
	p.check((r != nil) == (t.Marker != ""), "marker and reversal: one needs the other")
	if r == nil {
		return
	}
	p.check(text(r.Type, 255) && r.Type != t.Type, "reversal: type must be 1 to 255 bytes, and another than that of the facts")
	p.check(len(r.Negate) > 0, "reversal: must negate a column, or it takes nothing back")
	outside := false
	for column, value := range t.Only {
		set, has := r.Set[column]
		outside = outside || has && set != value
	}
	p.check(outside, "reversal: must set a column of only to another value, or it would be one more effect of this type")
	p.check(len(t.Events) == 0, "events: rows that are marked stay, and so do their events; leave them out")
	all := slices.Concat(r.Negate, r.Copy, slices.Collect(maps.Keys(r.Set)))
	slices.Sort(all)
	p.check(len(slices.Compact(slices.Clone(all))) == len(all), "reversal: a column is negated, copied or set, and not two of them")
	for _, own := range []string{t.ID, t.Fact, t.Marker} {
		p.check(!slices.Contains(all, own), "reversal: %q is not for it to say", own)
	}
}

// Columns are all that a description names of its own table, sorted.
func (t Table) Columns() []string {
	all := []string{t.ID, t.Created, t.Fact, t.Account}
	for _, optional := range []string{t.Status, t.Marker} {
		if optional != "" {
			all = append(all, optional)
		}
	}
	for _, p := range t.Key {
		all = append(all, p.Column)
	}
	all = append(all, t.Identical...)
	all = slices.AppendSeq(all, maps.Values(t.Attributes))
	all = slices.AppendSeq(all, maps.Keys(t.Only))
	all = slices.AppendSeq(all, maps.Keys(t.Untouched))
	if t.Reversal != nil {
		all = slices.Concat(all, t.Reversal.Negate, t.Reversal.Copy)
		all = slices.AppendSeq(all, maps.Keys(t.Reversal.Set))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func text(s string, limit int) bool {
	return s != "" && len(s) <= limit && utf8.ValidString(s) && !strings.ContainsRune(s, 0)
}

func relation(name string) bool {
	parts := strings.Split(name, ".")
	return len(parts) <= 2 && !slices.ContainsFunc(parts, func(p string) bool { return !text(p, 63) })
}
