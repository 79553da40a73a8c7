package gen

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdfast-dev/holdfast/schema/canonical"
	"github.com/holdfast-dev/holdfast/schema/catalog"
)

// expect returns with what parameters and components a database is compared.
func (l *ledger) expect(opts VerifyOptions) (canonical.Params, []canonical.Component) {
	components := opts.Components
	if len(components) == 0 {
		for _, c := range canonical.Components() {
			if _, has := l.recorded[c]; has {
				components = append(components, c)
			}
		}
	}
	if len(components) == 0 {
		components = []canonical.Component{canonical.Outbox}
	}
	first, has := l.recorded[canonical.Outbox]
	if !has {
		first, has = l.recorded[canonical.Consumer] // whose database need not have a log
	}
	if !has {
		first = l.recorded[canonical.Saga] // nor its
	}
	p, recorded := opts.Params, first.params
	return canonical.Params{
		Schema:        l.schema,
		Lanes:         cmp.Or(p.Lanes, recorded.Lanes),
		Slots:         cmp.Or(p.Slots, recorded.Slots),
		Period:        cmp.Or(p.Period, recorded.Period),
		MaxEventBytes: cmp.Or(p.MaxEventBytes, recorded.MaxEventBytes),
	}.WithDefaults(), components
}

// compare compares what is recorded with the canonical files. What a component looks like is
// known for its newest version, so those of another one are not among the current ones.
func (l *ledger) compare(params canonical.Params, components []canonical.Component) (current []canonical.Component, found []catalog.Difference, err error) {
	plan, err := canonical.Plan(params, components...)
	if err != nil {
		return nil, nil, err
	}
	newest := map[canonical.Component]canonical.Rendered{}
	for _, file := range plan { // in ascending versions
		newest[file.Component] = file
	}
	for _, c := range canonical.Components() {
		file, wanted := newest[c]
		if !wanted {
			continue
		}
		d := l.difference(file, params)
		if d != nil {
			found = append(found, *d)
		}
		whole := !slices.ContainsFunc(c.Needs(), func(need canonical.Component) bool { return !slices.Contains(current, need) })
		if e, has := l.recorded[c]; has && e.version == file.Version && whole {
			current = append(current, c)
		}
	}
	return current, found, nil
}

// difference returns the first thing in which an entry differs, or nil.
func (l *ledger) difference(file canonical.Rendered, params canonical.Params) *catalog.Difference {
	e, has := l.recorded[file.Component]
	update := fmt.Sprintf("UPDATE %s.holdfast_schema SET %%s WHERE component = '%s'; -- once nothing else differs", l.schema, file.Component)
	d := &catalog.Difference{Object: catalog.Object{Kind: "component", Name: string(file.Component)}, Component: file.Component, Matters: true}
	set := func(property, expected, actual, mend string) *catalog.Difference {
		d.Property, d.Expected, d.Actual, d.Mend = property, expected, actual, mend
		return d
	}
	switch {
	case !has:
		return set("version", fmt.Sprint(file.Version), "not installed", "-- Run the migrations that `outbox-gen write` writes.")
	case e.version < file.Version:
		return set("version", fmt.Sprint(file.Version), fmt.Sprint(e.version), "-- Run the migrations that `outbox-gen write` writes.")
	case e.version > file.Version:
		return set("version", fmt.Sprint(file.Version), fmt.Sprint(e.version), "-- Use the outbox-gen of the newer release.")
	case e.identity != l.identity:
		return set("system identifier", fmt.Sprint(e.identity), fmt.Sprint(l.identity), "-- Run `relay rebase`: the database comes from another cluster.")
	case e.params.JSON() != params.JSON():
		return set("parameters", params.JSON(), e.params.JSON(),
			fmt.Sprintf(update, fmt.Sprintf("parameters = '%s', checksum = '%s'", params.JSON(), file.Checksum)))
	case e.checksum != file.Checksum:
		return set("checksum", file.Checksum, e.checksum, fmt.Sprintf(update, fmt.Sprintf("checksum = '%s'", file.Checksum)))
	}
	return nil
}
