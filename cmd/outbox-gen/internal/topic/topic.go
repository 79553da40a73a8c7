package topic

import (
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// Group is what a topic is about.
type Group string

// The groups, in the order in which they are listed.
const (
	Drift     Group = "drift"
	Code      Group = "error code"
	Component Group = "component"
	Tool      Group = "tool"
)

// Topic is a word and what it means.
type Topic struct {
	Name    string `json:"name"`
	Group   Group  `json:"group"`
	Summary string `json:"summary"` // one sentence without its full stop
	Text    string `json:"text"`    // what it means, how it comes about, what to do
}

// All returns every topic, by group.
func All() []Topic { return slices.Concat(drifts(), codes(), components(), tools()) }

// Find returns the topic of that name, in any case.
func Find(name string) (Topic, bool) {
	for _, t := range All() {
		if strings.EqualFold(t.Name, name) {
			return t, true
		}
	}
	return Topic{}, false
}

// OfKind returns the topic of a kind of drift.
func OfKind(k gen.Kind) Topic {
	t, _ := Find(string(k))
	return t
}

func components() []Topic {
	texts := map[canonical.Component]string{
		canonical.Outbox:   "The log: the table event_outbox with its retention slots, the functions publish, publish_text, publish_base64 and publish_events, and the table holdfast_schema, which says what is installed. Producers need nothing else.",
		canonical.Hold:     "Held events: generations of operations, their receipts, and the functions that register, release and cancel them. A service needs it when its events must wait for the outcome of an operation.",
		canonical.Relay:    "The state of relays: cursors and leases by lane, retries, dead letters and settled batches. A database that a relay drains needs it.",
		canonical.Consumer: "What a consumer of events keeps in its own database: facts, each applied once, the inbox, the quarantine, dead letters, the pause switch and the ledger of repairs. It needs no other component.",
		canonical.Saga:     "The operations that a coordinator drives over several services: claims with a lease, pinned requests, results, a cache of steps, and what was done to them. It lies in the coordinator's own database and needs no other component.",
	}
	summaries := map[canonical.Component]string{
		canonical.Outbox:   "the append-only log of events and the functions that stage them",
		canonical.Hold:     "events that wait until an operation is released or cancelled",
		canonical.Relay:    "what relays keep in the database that they drain",
		canonical.Consumer: "what consumers keep in their own database",
		canonical.Saga:     "what coordinators keep of their operations",
	}
	var all []Topic
	for _, c := range canonical.Components() {
		all = append(all, Topic{Name: string(c), Group: Component, Summary: summaries[c], Text: texts[c]})
	}
	return all
}

func tools() []Topic {
	var all []Topic
	for _, t := range gen.Tools() {
		_, summary, _ := strings.Cut(t.Summary(), ": ")
		if summary == "" {
			summary = t.Summary()
		}
		all = append(all, Topic{Name: string(t), Group: Tool, Summary: summary, Text: toolTexts[t]})
	}
	return all
}

var toolTexts = map[gen.Tool]string{
	gen.Atlas:         "Files are named NUMBER_name.sql and run in the order of their names. atlas.sum is renewed when files are added, and only if it was right for what was there before; otherwise write refuses, because a new checksum would approve of changes that nobody has looked at.",
	gen.DBMate:        "Files are named NUMBER_name.sql and run in the order of their names. The migrate:down section raises an error, so that a rollback fails and says why: the tables hold events. An empty section would make dbmate forget the migration and keep the tables.",
	gen.Flyway:        "Files are named VNUMBER__name.sql and run by number, part by part. Placeholders are no part of them. An undo script is not written, so that flyway undo refuses.",
	gen.GolangMigrate: "Each version is a pair of files, NUMBER_name.up.sql and NUMBER_name.down.sql. The down file raises an error, because without one migrate would step back and keep the tables. After it was run, migrate calls the database dirty: run migrate force with the number of the file. Leave x-multi-statement off: with it migrate cuts function bodies in two.",
	gen.Goose:         "Files are named NUMBER_name.sql. Statements that have a semicolon at the end of an inner line stand between StatementBegin and StatementEnd. The Down section raises an error, so that goose down changes nothing and says why.",
	gen.Tern:          "Files are named NUMBER_name.sql, without gaps in the numbers. There is no way back in them, and tern by itself refuses to take an irreversible migration back.",
	gen.Plain:         "Files are named NUMBER_name.sql and are plain SQL, for whatever runs them in the order of their names, each in one transaction, for example: psql -1 -v ON_ERROR_STOP=1 -f FILE.",
}
