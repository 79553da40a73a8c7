package check

import (
	"fmt"
	"slices"
)

// Severity says how much a finding matters.
type Severity string

// The severities.
const (
	OK   Severity = "ok"
	Warn Severity = "warn"
	Fail Severity = "fail"
	Skip Severity = "skip"
)

// Finding is what one check has to say.
type Finding struct {
	Check    string // its name, a contract
	Severity Severity
	Text     string // one line: what was found
	Hint     string // what a person can do; "" when there is nothing to do
	// Away says that a server cannot be reached, so that waiting may help.
	Away bool

	blocked bool // not made, because of what it needs
}

func ok(format string, args ...any) Finding {
	return Finding{Severity: OK, Text: fmt.Sprintf(format, args...)}
}

func skip(format string, args ...any) Finding {
	return Finding{Severity: Skip, Text: fmt.Sprintf(format, args...)}
}

func warn(hint, format string, args ...any) Finding {
	return Finding{Severity: Warn, Text: fmt.Sprintf(format, args...), Hint: hint}
}

func fail(hint, format string, args ...any) Finding {
	return Finding{Severity: Fail, Text: fmt.Sprintf(format, args...), Hint: hint}
}

// allowed is a finding that was overridden by name.
func (f Finding) allowed() Finding {
	switch f.Severity {
	case Fail:
		f.Severity = Warn
	case Warn:
		f.Severity = OK
	default:
		return f
	}
	f.Text = "allowed by name: " + f.Text
	return f
}

// Report is what all checks have to say, in a fixed order.
type Report struct{ Findings []Finding }

// Healthy reports whether nothing failed.
func (r Report) Healthy() bool { return r.Count(Fail) == 0 }

// Count returns how many findings have a severity.
func (r Report) Count(s Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// Away reports whether everything that failed is a server that cannot be reached.
func (r Report) Away() bool {
	failed := r.Of(Fail)
	return len(failed) > 0 && !slices.ContainsFunc(failed, func(f Finding) bool { return !f.Away })
}

// Of returns the findings of some severities.
func (r Report) Of(severities ...Severity) []Finding {
	var found []Finding
	for _, f := range r.Findings {
		if slices.Contains(severities, f.Severity) {
			found = append(found, f)
		}
	}
	return found
}
