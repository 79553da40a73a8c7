package call

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/outbox"
)

// Schema returns the name of the database schema, which is "outbox" when it is empty. The
// rule for names is the outbox's, since both are in one schema.
func Schema(name string) (string, error) {
	if name == "" {
		return "outbox", nil
	}
	if _, err := outbox.New(outbox.Config{Schema: name}); err != nil {
		return "", err
	}
	return name, nil
}

// CheckHold refuses what can name no generation. The zero UUID is taken for a Hold that
// nobody filled in.
func CheckHold(h outbox.Hold) error {
	if h.Operation == uuid.Nil {
		return Invalid("operation", "is null", "Pass the id of the operation.")
	}
	if h.Generation < 1 || h.Generation > math.MaxInt32 {
		return Invalid("generation", strconv.Itoa(h.Generation)+" is not a generation", "Generations count from 1, to 2147483647.")
	}
	return nil
}

// CheckText refuses a text that is not minimum to maximum bytes of UTF-8 without NUL, which
// Postgres cannot store.
func CheckText(argument, text string, minimum, maximum int, hint string) error {
	if len(text) < minimum || len(text) > maximum {
		return Invalid(argument, fmt.Sprintf("must be %d to %d bytes, not %d", minimum, maximum, len(text)), hint)
	}
	if !utf8.ValidString(text) || strings.Contains(text, "\x00") {
		return Invalid(argument, "must be UTF-8 without NUL", hint)
	}
	return nil
}

// Invalid is an [*outbox.InvalidArgumentError] with a hint.
func Invalid(argument, problem, hint string) error {
	return &explained{meaning: &outbox.InvalidArgumentError{Argument: argument, Problem: problem}, hint: hint}
}
