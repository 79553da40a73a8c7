package sweep

import "time"

// Outcome is what became of a candidate.
type Outcome string

// The outcomes. All but Failed and Unknown are final in their manifest.
const (
	Undone      Outcome = "undone"
	Quarantined Outcome = "quarantined" // left intact, for a person
	Skipped     Outcome = "skipped"     // no orphan, or not the one that was reviewed
	Failed      Outcome = "failed"      // rolled back; the next run tries again
	Unknown     Outcome = "unknown"     // committed or not; the next run asks
)

// Why a candidate was skipped or quarantined by the sweep itself. A service has codes of its own, and failures
// those of SQLSTATE.
const (
	WhyReceipt = "receipt" // a receipt covers a part of it, or the quarantine of compensation
	WhyGone    = "gone"    // the query finds it no more
	WhyChanged = "changed" // it is made of other entities than were reviewed, or was made at another time
	WhyNoMark  = "no-mark" // it lacks the mark, now or when it was planned
	// WhyUnknown: an earlier run was about to commit, and the database does not know what became of it.
	WhyUnknown = "outcome-unknown"
	// WhyNoAnswer: the commit had no answer, and the database did not say in time what became of it.
	WhyNoAnswer = "no-answer"
)

// Result is what became of one candidate.
type Result struct {
	ID      string  `json:"id"`
	Outcome Outcome `json:"outcome"`
	Why     string  `json:"why,omitempty"` // a code
	// Transaction is the id of the one that did it, or may have done it; "" when none was committed.
	Transaction string    `json:"transaction,omitempty"`
	At          time.Time `json:"at,omitzero"` // by the clock of the database

	// Err is what failed. It is for programs: its text may hold what the service's statements say, and
	// is never written.
	Err error `json:"-"`
}

func (r Result) final() bool { return r.Outcome != "" && r.Outcome != Failed && r.Outcome != Unknown }

// Report is what became of the candidates of a manifest, in all runs so far.
type Report struct {
	Results []Result // in the order of the manifest
	// Pending are the ids of those that no run has come to.
	Pending []string
}

// Count says how many had this outcome.
func (r *Report) Count(o Outcome) (n int) {
	for _, result := range r.Results {
		if result.Outcome == o {
			n++
		}
	}
	return n
}

// report puts together what is known, in the order of the manifest.
func report(m *Manifest, known map[string]Result) *Report {
	r := &Report{}
	for _, c := range m.Candidates {
		if result, has := known[c.ID]; has {
			r.Results = append(r.Results, result)
		} else {
			r.Pending = append(r.Pending, c.ID)
		}
	}
	return r
}
