package outbox

import (
	_ "embed"
	"strings"
)

var (
	//go:embed publish_events.sql
	publishEventsSQL string
	//go:embed publish_events_held.sql
	publishEventsHeldSQL string
	//go:embed publish_events_text.sql
	publishEventsTextSQL string
	//go:embed publish_events_held_text.sql
	publishEventsHeldTextSQL string
	//go:embed schema_exists.sql
	schemaExistsSQL string
	//go:embed schema_read.sql
	schemaReadSQL string
)

// in returns a statement for a database schema, whose name is a valid identifier.
// The comments stay here: they would travel with every call.
func in(schema, statement string) string {
	var b strings.Builder
	for line := range strings.Lines(statement) {
		if !strings.HasPrefix(line, "--") {
			b.WriteString(line)
		}
	}
	return strings.ReplaceAll(strings.TrimSpace(b.String()), "{{.Schema}}", schema)
}

// notify returns what makes a statement that stages notify a channel as well, whose name is a
// valid identifier; nothing for no channel.
func notify(channel string) string {
	if channel == "" {
		return ""
	}
	return ", pg_catalog.pg_notify('" + channel + "', '')"
}
