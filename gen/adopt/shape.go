package adopt

import (
	"slices"
	"strings"
)

// Shape is a kind of outbox that is known.
type Shape string

// The shapes.
const (
	FlagTable   Shape = "flag"
	StatusTable Shape = "status"
	Debezium    Shape = "debezium"
	Watermill   Shape = "watermill"
	Copy        Shape = "copy"
)

// Title says for a person what the shape is.
func (s Shape) Title() string {
	return map[Shape]string{
		FlagTable:   "table with a published column",
		StatusTable: "table with a status column",
		Debezium:    "table for the Debezium outbox event router",
		Watermill:   "table of watermill-sql",
		Copy:        "hand copy of the canonical table",
	}[s]
}

const (
	publishedName = "published_at"
	statusName    = "status"
)

// shapeOf tells what a table is; "" for none that is known. With a flag or a status column
// named, the table needs none of the usual name.
func shapeOf(t *table, opts Options) Shape {
	hasAny := func(names []string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return t.has(name) })
	}
	isEvent := (hasAny(usual[Type]) || opts.Columns[Type] != "" || opts.Constants[Type] != "") &&
		(hasAny(usual[Data]) || opts.Columns[Data] != "")
	switch {
	case t.has("offset", "uuid", "created_at", "payload", "metadata", "transaction_id"):
		return Watermill
	case t.has("event_id", "source", "type", "partition_key", "data"):
		return Copy
	case t.has("id", "aggregatetype", "aggregateid", "type", "payload"):
		return Debezium
	case isEvent && (t.has(publishedName) || opts.Published != ""):
		return FlagTable
	case isEvent && (t.has(statusName) || opts.Status != ""):
		return StatusTable
	default:
		return ""
	}
}

// looksLikeOutbox reports whether a table that nobody named may be one. Many tables have a
// status and a body, so the name has to say so too.
func looksLikeOutbox(t *table) bool {
	switch shapeOf(t, Options{}) {
	case "":
		return false
	case FlagTable, StatusTable:
		return slices.ContainsFunc([]string{"outbox", "event", "message"}, func(word string) bool { return strings.Contains(t.name, word) })
	default:
		return true
	}
}

// rest are the columns of the shape that say nothing about an event.
func (s Shape) rest() []string {
	switch s {
	case Watermill:
		return []string{"offset", "transaction_id"}
	case Copy:
		return append([]string{"seq", "tx", "slot", "lane", "staged_at"}, usualRest...)
	default:
		return usualRest
	}
}
