package relay

import (
	"embed"
	"strings"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

// statements are the SQL of this package with the database schema filled in.
// They are immutable after newStatements and safe for concurrent use.
type statements struct {
	session, sessionSettle                string
	scout, read, backlog, page, settle    string
	claim, renew, free, handBack          string
	join, leave, forget                   string
	statusLanes, statusHeld, statusRelays string
}

func newStatements(schema string) statements {
	sql := func(name string) string {
		text, err := sqlFiles.ReadFile("sql/" + name + ".sql")
		if err != nil {
			panic("relay: " + name + ".sql is not embedded") // a build without its files
		}
		return strings.ReplaceAll(string(text), "{{schema}}", schema)
	}
	return statements{
		session: sql("session"), sessionSettle: sql("session_settle"),
		scout: sql("scout"), read: sql("read"), backlog: sql("backlog"), page: sql("page"), settle: sql("settle"),
		claim: sql("claim"), renew: sql("renew"), free: sql("free"), handBack: sql("hand_back"),
		join: sql("join"), leave: sql("leave"), forget: sql("forget"),
		statusLanes: sql("status_lanes"), statusHeld: sql("status_held"), statusRelays: sql("status_relays"),
	}
}
