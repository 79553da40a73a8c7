package repair

import (
	"fmt"
	"slices"
	"strings"
)

// Shape is what the rows of one key are to each other; see the table of the package.
type Shape string

// The shapes. Only Identical is repaired.
const (
	Identical  Shape = "identical"
	Differs    Shape = "differs"
	Touched    Shape = "touched"
	Referenced Shape = "referenced"
	Claimed    Shape = "claimed"
	Published  Shape = "published"
	Reversed   Shape = "reversed"
	Keyless    Shape = "keyless"
	// Unlinked is an effect whose fact says otherwise, or has another effect.
	Unlinked Shape = "unlinked"
)

// Shapes returns all of them, the one that is repaired first.
func Shapes() []Shape {
	return []Shape{Identical, Differs, Touched, Referenced, Claimed, Published, Reversed, Keyless, Unlinked}
}

// Group are the rows of one key, by their ids, the one that stays first.
type Group struct {
	Shape Shape
	IDs   []string
}

// RefusedError is returned when a key has another shape than identical: nothing was changed.
type RefusedError struct{ Report *Report }

func (e *RefusedError) Error() string {
	var texts []string
	for _, s := range Shapes()[1:] {
		if n := e.Report.Counts[s]; n > 0 {
			i := slices.IndexFunc(e.Report.Groups, func(g Group) bool { return g.Shape == s })
			texts = append(texts, fmt.Sprintf("%d %s (such as id %s)", n, s, strings.Join(e.Report.Groups[i].IDs, " ")))
		}
	}
	return fmt.Sprintf("repair %s: refused, nothing was changed: %s", e.Report.Table, strings.Join(texts, "; "))
}

// Hint says what a person can do.
func (e *RefusedError) Hint() string {
	return "these need a person: relay consumer reconcile says what the provider has of them; correct each with an approved entry of its own, then run this again"
}

// AssertionError is returned when what was repaired is not as it must be: nothing was changed.
type AssertionError struct{ Text string }

func (e *AssertionError) Error() string {
	return "repair: assertion failed, nothing was changed: " + e.Text
}

// IndexError is returned for an index of that name which is valid and has another shape.
type IndexError struct{ Name, Have, Want string }

func (e *IndexError) Error() string {
	return fmt.Sprintf("repair: nothing was changed: the index %s is on %s, want %s", e.Name, e.Have, e.Want)
}

// Hint says what a person can do.
func (e *IndexError) Hint() string {
	return "name another index in the description, or rename the one that exists; a valid index is never dropped"
}
