package walk

import (
	"errors"
	"fmt"
)

// ErrChanged is the cause of an [*EndError]: the stream was deleted and made anew while it was read, or it
// was restored or has lost its end.
var ErrChanged = errors.New("it is not the stream any more that it was when the reading began")

// ErrRemoved is the cause of an [*EndError] of those who need all of a stream: some of it was deleted or purged before it was
// read. [Stream] itself hands on what is left.
var ErrRemoved = errors.New("messages were removed from it while it was read")

// EndError is returned when a stream cannot be read to its end.
type EndError struct {
	Stream string
	// After is the sequence that was read last; 0 when none was.
	After uint64
	// Err says why: [ErrChanged], [jetstream.ErrStreamNotFound], or that no message came, with what the broker says.
	Err error
}

func (e *EndError) Error() string {
	return fmt.Sprintf("read stream %s after sequence %d: %s", e.Stream, e.After, e.Err)
}

// Unwrap returns the cause.
func (e *EndError) Unwrap() error { return e.Err }

// Hint says what a person can do.
func (e *EndError) Hint() string {
	return "nothing is concluded from a part of a stream: see how the broker and the stream are, then try again"
}
