package adopt

import (
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// Rows says of a table that does not tell it which rows were published.
type Rows string

// The answers.
const (
	RowsUndecided Rows = ""     // refuse if there is any row
	RowsAll       Rows = "all"  // none of the rows was published: all are moved
	RowsNone      Rows = "none" // every row was published, or will be by whoever did so far: none is moved
)

// Options say what to adopt, and override what the columns of the table mean. A column is
// written as COLUMN, or as COLUMN.FIELD for a field of a JSON column.
type Options struct {
	// Params are those of the service's schema.
	Params canonical.Params
	// Table to adopt, with or without its schema. Defaults to the only one that looks like an outbox.
	Table string
	// Columns that hold attributes. Defaults to the usual names.
	Columns map[Attribute]string
	// Constants are the attributes that are the same for every event: Source, Type and
	// DataContentType.
	Constants map[Attribute]string
	// NoKey says that the events have no key, so that they have no order either.
	NoKey bool
	// Extensions are the columns that become extensions, by the name of the extension.
	Extensions map[string]string
	// Ignore lists columns that are not moved.
	Ignore []string
	// Order lists the columns that tell the order of events of one key. Defaults to the only
	// column that is filled by a sequence.
	Order []string
	// Published is the column that tells what was published: a time that is null until then,
	// or a boolean. Defaults to published_at.
	Published string
	// Status is the column whose words tell it. Defaults to status.
	Status string
	// Unpublished and Done are words of Status, beyond those that are known.
	Unpublished, Done []string
	// Rows is for a table that does not tell it.
	Rows Rows
	// Group is the consumer group of a watermill table. Defaults to the only one.
	Group string
	// TimeZone of times without one.
	TimeZone string
}

// Validate reports options that contradict one another.
func (o Options) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for a := range o.Constants {
		if !slices.Contains([]Attribute{Source, Type, DataContentType}, a) {
			bad("attribute %s can't be the same for every event", a)
		}
		if o.Columns[a] != "" {
			bad("attribute %s has both a column and a text", a)
		}
	}
	if o.NoKey && o.Columns[PartitionKey] != "" {
		bad("events can't have both a key column and no key")
	}
	if !slices.Contains([]Rows{RowsUndecided, RowsAll, RowsNone}, o.Rows) {
		bad("rows can be all or none, not %q", o.Rows)
	}
	if o.Rows != RowsUndecided && (o.Published != "" || o.Status != "" || o.Group != "") {
		bad("rows, and a column or a group that tells what was published, exclude each other")
	}
	if o.Published != "" && o.Status != "" {
		bad("a published column and a status column exclude each other")
	}
	for _, word := range o.Unpublished {
		if slices.Contains(o.Done, word) {
			bad("status %q can't be both published and unpublished", word)
		}
	}
	return errors.Join(append(errs, o.Params.Validate())...)
}
