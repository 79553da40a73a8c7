package command

import (
	"io"
	"strconv"
	"time"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/hold"
)

// holdGeneration is a generation as JSON has it: a contract, only ever added to. A time or a
// text that is not known, or not there yet, is empty.
type holdGeneration struct {
	Operation     string  `json:"operation"`
	Generation    int     `json:"generation"`
	State         string  `json:"state"`
	MaxGeneration int     `json:"max_generation"`
	Held          int64   `json:"held"`
	Released      int64   `json:"released"`
	Dropped       int64   `json:"dropped"`
	Receipts      int64   `json:"receipts"`
	Quarantined   int64   `json:"quarantined"`
	Attempts      int     `json:"attempts"`
	Principal     string  `json:"principal"`
	RegisteredAt  string  `json:"registered_at"`
	DecidedAt     string  `json:"decided_at"`
	DecidedBy     string  `json:"decided_by"`
	Reason        string  `json:"reason"`
	CompensatedAt string  `json:"compensated_at"`
	ExpiresAt     string  `json:"expires_at"`
	OnExpiry      string  `json:"on_expiry"`
	Age           float64 `json:"age_seconds"`
	Overdue       float64 `json:"overdue_seconds"`
	// Superseded: it is active, and the operation has a later generation, so that it can only be cancelled.
	Superseded bool `json:"superseded"`
}

func generationOf(l hold.Listed) holdGeneration {
	return holdGeneration{
		Operation: l.Hold.Operation.String(), Generation: l.Hold.Generation, State: string(l.State), MaxGeneration: l.MaxGeneration,
		Held: l.Held, Released: l.Released, Dropped: l.Dropped, Receipts: l.Receipts, Quarantined: l.Quarantined, Attempts: l.Attempts,
		Principal: l.Principal, RegisteredAt: output.Time(l.RegisteredAt), DecidedAt: timeOrNone(l.DecidedAt), DecidedBy: l.DecidedBy,
		Reason: l.Reason, CompensatedAt: timeOrNone(l.Compensated), ExpiresAt: timeOrNone(l.ExpiresAt), OnExpiry: string(l.OnExpiry),
		Age: output.Seconds(l.Age), Overdue: output.Seconds(l.Overdue), Superseded: isSuperseded(string(l.State), l.Hold.Generation, l.MaxGeneration),
	}
}

func isSuperseded(state string, generation, highest int) bool {
	return state == string(hold.Active) && generation < highest
}

func timeOrNone(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return output.Time(t)
}

// stateOf is the state for people: what a later generation superseded, and what is undecided and expired.
func (g *holdGeneration) stateOf() string {
	state := g.State
	if g.Superseded {
		state += ", superseded by generation " + strconv.Itoa(g.MaxGeneration)
	}
	if g.Overdue > 0 {
		state += ", overdue for " + age(g.Overdue)
	}
	return state
}

func age(seconds float64) string { return output.Age(time.Duration(seconds * float64(time.Second))) }

// name is what -o name prints: the arguments of the other commands.
func (g *holdGeneration) name() string { return g.Operation + " " + strconv.Itoa(g.Generation) }

// write shows everything about one generation.
func (g *holdGeneration) write(w io.Writer) error {
	table := output.Table{}
	add := func(name, text string) {
		if text != "" {
			table.Add(name, plain(text))
		}
	}
	table.Add("operation", g.Operation)
	table.Add("generation", strconv.Itoa(g.Generation)+" of "+strconv.Itoa(g.MaxGeneration))
	table.Add("state", g.stateOf())
	table.Add("events", output.Number(g.Held)+" held, "+output.Number(g.Released)+" released, "+output.Number(g.Dropped)+" dropped")
	table.Add("steps", output.Number(g.Receipts)+" applied, "+output.Number(g.Quarantined)+" quarantined")
	add("principal", g.Principal)
	table.Add("registered", g.RegisteredAt+", "+age(g.Age)+" ago")
	add("expires", g.ExpiresAt)
	if g.ExpiresAt != "" {
		table.Add("on expiry", g.OnExpiry)
	}
	add("decided", g.DecidedAt)
	add("decided by", g.DecidedBy)
	add("reason", g.Reason)
	add("compensated", g.CompensatedAt)
	return table.Write(w)
}
