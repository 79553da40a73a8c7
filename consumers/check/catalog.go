package check

import (
	"time"

	"github.com/holdfast-dev/holdfast/consumers/effects"
)

// Severity says what a broken invariant means.
type Severity string

// The severities.
const (
	High   Severity = "high"   // money can be wrong: somebody must look now
	Medium Severity = "medium" // something waits for a person
)

// Invariant is what must be true.
type Invariant struct {
	Name     string // a contract
	Severity Severity
	// Grace is how old something must be to count. Zero: at once.
	Grace time.Duration
	// Meaning completes the sentence "found ...".
	Meaning string
	// Remedy says what a person can do.
	Remedy string

	// query is the file that finds everything that breaks it.
	query string
	// described says that it is about a table of effects.
	described bool
	// needs says whether it applies to a description. Nil: always.
	needs func(t effects.Table) bool
}

func marked(t effects.Table) bool { return t.Marker != "" }

// Catalog returns every invariant, in the order of a report.
func Catalog() []Invariant {
	return []Invariant{
		{
			Name: "duplicate-facts", Severity: High, described: true, query: "duplicate_facts",
			Meaning: "keys with more than one canonical effect, whatever their status",
			Remedy:  "pause the group and find the writer that claims no fact; then relay consumer repair, and relay consumer reconcile against the provider",
		},
		{
			Name: "fact-without-effect", Severity: High, described: true, query: "fact_without_effect",
			Meaning: "facts that have no effect",
			Remedy:  "somebody removed or never wrote the effect: restore it with an approved ticket, naming the fact; a repair invents none, and a redelivery is refused until then",
		},
		{
			Name: "fact-with-effects", Severity: High, described: true, query: "fact_with_effects",
			Meaning: "facts that more than one effect names",
			Remedy:  "the column that names the fact lacks its unique constraint: add it, after relay consumer repair",
		},
		{
			Name: "effect-without-fact", Severity: High, described: true, query: "effect_without_fact",
			Meaning: "canonical effects that no fact tells",
			Remedy:  "a writer claims no fact: find it and have it use facts.Claim; relay consumer repair gives historic rows their facts",
		},
		{
			Name: "effect-differs-from-fact", Severity: High, described: true, query: "effect_differs",
			Meaning: "effects whose key, account or attributes are not those of their fact",
			Remedy:  "an effect was changed after it was written: correct it by an entry of its own, never in place",
		},
		{
			Name: "superseded-compensation", Severity: High, described: true, needs: marked, query: "superseded_compensation",
			Meaning: "superseded duplicates without exactly one compensation that takes back the same",
			Remedy:  "write the reversal with facts.ReversalKey and the id of the duplicate; two reversals of one duplicate need a person",
		},
		{
			Name: "effect-indexes", Severity: High, described: true, query: "effect_indexes",
			Meaning: "unique indexes that are absent, invalid or of another shape",
			Remedy:  "relay consumer repair builds the index; an invalid one is what CREATE INDEX CONCURRENTLY left when it failed: it constrains nothing",
		},
		{
			Name: "quarantine-open", Severity: High, query: "quarantine_open",
			Meaning: "events that tell a known fact in another way, and nobody has decided",
			Remedy:  "relay consumer quarantine show ID, then resolve it with what was decided",
		},
		{
			Name: "dead-letters-old", Severity: Medium, Grace: time.Hour, query: "dead_letters_old",
			Meaning: "dead letters that nobody has decided about for longer than the grace",
			Remedy:  "relay consumer dead-letter list --group-by reason,type; mend the reason, then replay them",
		},
		{
			Name: "replays-stuck", Severity: Medium, Grace: 15 * time.Minute, query: "replays_stuck",
			Meaning: "replays that were requested and have not ended for longer than the grace",
			Remedy:  "is an instance of the consumer running, and its group not paused? relay consumer show NAME",
		},
	}
}
