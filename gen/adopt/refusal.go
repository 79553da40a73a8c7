package adopt

import (
	"fmt"
	"strings"
)

// Reason is one thing that stands in the way.
type Reason struct {
	Message string
	Hint    string // what a person can do
}

// RefusedError is returned for a table that is not understood well enough to move it. Nothing
// was changed.
type RefusedError struct {
	Table   string // with its schema
	Reasons []Reason
}

func (e *RefusedError) Error() string {
	texts := make([]string, len(e.Reasons))
	for i, r := range e.Reasons {
		texts[i] = r.Message
	}
	return fmt.Sprintf("table %s is not adopted: %s", e.Table, strings.Join(texts, "; "))
}

// NotFoundError is returned when no table, or more than one, looks like an outbox.
type NotFoundError struct {
	Table  string   // that was named; "" if it was to be found
	Tables []string // that look like one
}

func (e *NotFoundError) Error() string {
	switch {
	case e.Table != "":
		return fmt.Sprintf("there is no table %s", e.Table)
	case len(e.Tables) == 0:
		return "no table looks like an outbox"
	default:
		return fmt.Sprintf("%d tables look like an outbox: %s", len(e.Tables), strings.Join(e.Tables, ", "))
	}
}

// Hint says what a person can do.
func (e *NotFoundError) Hint() string { return "name the table with --table SCHEMA.TABLE" }

// reasons collects.
type reasons []Reason

func (r *reasons) add(hint, format string, args ...any) {
	*r = append(*r, Reason{Message: fmt.Sprintf(format, args...), Hint: hint})
}
