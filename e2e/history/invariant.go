package history

import (
	"fmt"
	"strings"
)

// Invariant is something that must hold. Check returns what violates it.
type Invariant struct {
	Name  string
	Check func(*History) []Violation
}

// Violation is one thing that must not be.
type Violation struct{ Text string }

// Invariants returns all of them.
func Invariants() []Invariant {
	return []Invariant{
		{"no_loss", NoLoss},
		{"no_phantom", NoPhantom},
		{"hold_safety", HoldSafety},
		{"settled_implies_present", SettledImpliesPresent},
		{"bounded_duplicates", BoundedDuplicates},
		{"exact_handover", ExactHandover},
		{"key_order", KeyOrder},
		{"bytes_equal", BytesEqual},
		{"stream_sequence", StreamSequence},
		{"liveness", Liveness},
		{"fencing", Fencing},
		{"cursor_forward", CursorForward},
		{"accounting", Accounting},
		{"refusals_counted", RefusalsCounted},
		{"outcomes_true", OutcomesTrue},
		{"repair_exact", RepairExact},
		{"effects_once", EffectsOnce},
	}
}

// Report is the verdict over a history.
type Report struct {
	// Violations counts them by the name of the invariant. Every invariant is in it.
	Violations map[string]int
	// Findings describes the first ones of each.
	Findings []string
}

// findingsLimit bounds how many violations of one invariant are described.
const findingsLimit = 10

// Judge checks every invariant.
func (h *History) Judge() Report {
	r := Report{Violations: map[string]int{}}
	for _, invariant := range Invariants() {
		found := invariant.Check(h)
		r.Violations[invariant.Name] = len(found)
		for _, v := range found[:min(len(found), findingsLimit)] {
			r.Findings = append(r.Findings, invariant.Name+": "+v.Text)
		}
	}
	return r
}

// OK says that nothing was violated.
func (r Report) OK() bool {
	for _, n := range r.Violations {
		if n > 0 {
			return false
		}
	}
	return true
}

// String returns the findings, one a line.
func (r Report) String() string { return strings.Join(r.Findings, "\n") }

// verdict gathers violations.
type verdict []Violation

func (v *verdict) add(format string, args ...any) {
	*v = append(*v, Violation{fmt.Sprintf(format, args...)})
}
