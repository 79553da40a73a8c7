package reconcile

import (
	"context"
	"fmt"
)

// counted is a truth whose number of records is known from elsewhere.
type counted struct {
	Truth
	records int64
}

// Counted is an export that has as many records as its provider says, without the headings; any other number is
// a [*TruthError]. So it is told from one that was cut between two lines, and the last line of a CSV file needs no
// line break at its end: at most that line's last cell can be cut, which is then compared as it is.
func Counted(t Truth, records int64) Truth {
	if e, is := t.(*export); is {
		open := *e
		open.openEnd = true
		t = &open
	}
	return &counted{t, records}
}

func (c *counted) Records(ctx context.Context, each func(Record) error) error {
	n := int64(0)
	err := c.Truth.Records(ctx, func(r Record) error {
		n++
		return each(r)
	})
	if err == nil && n != c.records {
		return &TruthError{Ref: c.Name(), Reason: fmt.Sprintf("has %d records, and %d were told", n, c.records),
			hint: "get the whole export; headings and blank lines are no records"}
	}
	return err
}
