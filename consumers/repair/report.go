package repair

import "time"

// Report is what a repair would do, or did. Ids and counts only.
type Report struct {
	Table, Group, Index string
	Mode                Mode
	Applied             bool

	Rows   int64           // effects that count
	Counts map[Shape]int64 // keys with more than one row, and rows without a key
	Groups []Group         // the first of each shape, as many as Config.Examples

	Duplicates int64 // rows that go, or are superseded
	Removed    int64
	Superseded int64
	Reversals  int64
	Events     int64 // unpublished events that go with their rows
	Facts      int64 // effects that get their fact
	// IndexState is absent, invalid, there; and when it was built, built.
	IndexState string
	Steps      []Step
}

// Step is how long one step took.
type Step struct {
	Name string
	Took time.Duration
}

// Total is how long all of it took: the window in which nobody writes.
func (r *Report) Total() (total time.Duration) {
	for _, s := range r.Steps {
		total += s.Took
	}
	return total
}

// Refusals is how many groups are of a shape that is not repaired.
func (r *Report) Refusals() (n int64) {
	for shape, count := range r.Counts {
		if shape != Identical {
			n += count
		}
	}
	return n
}

func (r *Report) note(g Group, most int) {
	r.Counts[g.Shape]++
	of := 0
	for _, have := range r.Groups {
		if have.Shape == g.Shape {
			of++
		}
	}
	if of < most {
		r.Groups = append(r.Groups, g)
	}
}
