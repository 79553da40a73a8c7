package wire

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// ErrNotCloudEvent is returned by [Decode] for a message that does not claim to
// be a CloudEvent: no header that begins with ce-, and no Content-Type of
// application/cloudevents. What to do with it is the consumer's policy.
var ErrNotCloudEvent = errors.New("decode message: it is not a cloudevent")

// InvalidError says which part of an event cannot be put on the wire, or was
// wrong when it came from there. Trying again cannot help. It names attributes
// and rules, never values, and is safe to log.
type InvalidError struct {
	// Field is the name of the attribute, or one of "data", "extensions",
	// "body", "content-type" and "record".
	Field string

	// Reason completes the sentence "<field> ...", for example "is missing".
	Reason string
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("check event: %q %s", e.Field, e.Reason)
}

// ConfigError is returned by [NewEncoder].
type ConfigError struct {
	Field  string // name of the [Config] field
	Reason string // what is wrong with it
	Hint   string // what to write instead
}

func (e *ConfigError) Error() string {
	return fmt.Sprintf("configure wire format: %s %s (hint: %s)", e.Field, e.Reason, e.Hint)
}

// Reasons that are used by more than one check.
const (
	reasonMissing   = "is missing"
	reasonTwice     = "is given more than once"
	reasonNUL       = "contains a NUL character"
	reasonNotUTF8   = "is not valid UTF-8"
	reasonBadEscape = "contains a broken percent escape"
	reasonNotString = "is not a JSON string"
	reasonBadString = "is not a valid JSON string"
	reasonReserved  = `begins with "$", which is reserved for the server`
)

// maxFieldName bounds how much of a foreign name an error repeats.
const maxFieldName = 48

func invalid(field, reason string) *InvalidError {
	if len(field) > maxFieldName {
		cut := maxFieldName
		for cut > 0 && !utf8.RuneStart(field[cut]) {
			cut--
		}
		field = field[:cut] + "..."
	}
	return &InvalidError{Field: field, Reason: reason}
}
