package receipt

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/hold/internal/call"
)

// StepKey names a step within its operation: a name, or a name with an index for steps
// that come in lists. The grammar is closed:
//
//	key   = name [ ":" index ]          200 bytes at most
//	name  = a-z { a-z | 0-9 | "_" | "." | "-" }
//	index = 0 to 999999999, without leading zeros
//
// Each step has one key and each key one text, which is also what is stored. The zero
// value names no step.
type StepKey struct {
	name  string
	index int // plus one; 0 for none, so that keys can be compared
}

const (
	maxKey   = 200
	maxIndex = 999_999_999
)

var stepName = regexp.MustCompile(`^[a-z][a-z0-9_.-]*$`)

const stepHint = "Use a name such as household, or a name with an index such as member:3."

// Named returns the key of a step that an operation has once.
func Named(name string) (StepKey, error) { return newStepKey(name, 0) }

// Indexed returns the key of a step that an operation has for each entry of a list.
// The index counts from 0.
func Indexed(name string, index int) (StepKey, error) {
	if index < 0 || index > maxIndex {
		return StepKey{}, call.Invalid("step_key", fmt.Sprintf("index %d is not 0 to %d", index, maxIndex), stepHint)
	}
	return newStepKey(name, index+1)
}

// ParseStepKey reads what String wrote, and refuses everything else.
func ParseStepKey(text string) (StepKey, error) {
	name, digits, indexed := strings.Cut(text, ":")
	if !indexed {
		return Named(name)
	}
	index, err := strconv.Atoi(digits)
	if err != nil || strconv.Itoa(index) != digits { // no sign, no leading zeros
		return StepKey{}, call.Invalid("step_key", "has an index that is not a plain number", stepHint)
	}
	return Indexed(name, index)
}

func newStepKey(name string, index int) (StepKey, error) {
	k := StepKey{name: name, index: index}
	if !stepName.MatchString(name) {
		return StepKey{}, call.Invalid("step_key", "has a name that does not match [a-z][a-z0-9_.-]*", stepHint)
	}
	if n := len(k.String()); n > maxKey {
		return StepKey{}, call.Invalid("step_key", fmt.Sprintf("has %d bytes, more than %d", n, maxKey), stepHint)
	}
	return k, nil
}

// Name returns the part before the index.
func (k StepKey) Name() string { return k.name }

// Index returns the index, and whether there is one.
func (k StepKey) Index() (int, bool) { return max(k.index-1, 0), k.index > 0 }

// IsZero reports whether the key names no step.
func (k StepKey) IsZero() bool { return k == StepKey{} }

// String returns the text of the key, which [ParseStepKey] reads.
func (k StepKey) String() string {
	if k.index == 0 {
		return k.name
	}
	return k.name + ":" + strconv.Itoa(k.index-1)
}
