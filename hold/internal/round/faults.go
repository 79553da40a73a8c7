package round

import (
	"errors"
	"fmt"
)

// maxFaults is how many faults of a round are kept; the others are like them.
const maxFaults = 10

// Faults collects the errors of a round. The zero value has none.
type Faults struct {
	kept []error
	more int
}

// Add notes an error.
func (f *Faults) Add(err error) {
	if len(f.kept) < maxFaults {
		f.kept = append(f.kept, err)
	} else {
		f.more++
	}
}

// Join returns what was noted as one error, or nil. It is called once, at the end.
func (f *Faults) Join() error {
	if f.more > 0 {
		f.kept = append(f.kept, fmt.Errorf("%d more errors", f.more))
	}
	return errors.Join(f.kept...)
}
