package reconcile

// Class is what a comparison says of a key; see the table of the package.
type Class string

// The classes.
const (
	Clean        Class = "clean"
	Decided      Class = "decided"
	Missing      Class = "missing"
	Duplicate    Class = "duplicate"
	Mismatch     Class = "mismatch"
	Split        Class = "split"
	CrossAccount Class = "cross_account"
	Foreign      Class = "foreign"
)

// Classes returns all of them, the unexplained ones first.
func Classes() []Class {
	return []Class{Missing, Duplicate, Mismatch, Split, CrossAccount, Foreign, Decided, Clean}
}

// Explained reports whether a key of this class is as it should be.
func (c Class) Explained() bool { return c == Clean || c == Decided }

// Report is the outcome of a comparison. Ids, keys and counts: no attribute.
type Report struct {
	Table, Truth  string
	Records, Rows int64 // read of the truth, and of facts and effects
	// Messages are those that were read of a stream, and Unreadable those that are no events: a consumer gives such a
	// message up. 0 for an export.
	Messages, Unreadable int64
	Counts               map[Class]int64
	Examples             []Example // the first of each unexplained class
}

// Example is a key.
type Example struct {
	Class        Class
	Account, Key string
	Ref          string   // where the truth has it; "" when it does not
	FactID       int64    // 0 without one
	Effects      []string // ids of the rows
}

// Unexplained is the gate: it must be zero.
func (r *Report) Unexplained() (n int64) {
	for class, count := range r.Counts {
		if !class.Explained() {
			n += count
		}
	}
	return n
}

func (r *Report) note(most int, class Class, p place, e *entry) {
	r.Counts[class]++
	if class.Explained() {
		return
	}
	of := 0
	for _, x := range r.Examples {
		if x.Class == class {
			of++
		}
	}
	if of < most {
		r.Examples = append(r.Examples, Example{class, p.account, p.key, e.ref, e.factID, e.effects})
	}
}
