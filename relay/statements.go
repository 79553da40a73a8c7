package relay

import (
	"embed"
	"strings"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

// incarnation is the SQL that names one life of the server: from its start, or from the
// end of a crash recovery, to the next. A server that crashes, or a standby that takes
// over, may hand out transaction ids again that a snapshot taken before calls finished:
// those of transactions whose WAL was lost, such as aborted ones and settles. A cursor
// that is stored shares the fate of that WAL; one in memory must not outlive it.
const incarnation = "concat_ws('/', extract(epoch FROM pg_postmaster_start_time()), pg_last_wal_replay_lsn())"

// home is the SQL that says whether the cluster that answers is the one in which the stored
// transaction ids mean something. It is judged by the statements that begin to use them.
const home = `((SELECT c.system_identifier FROM pg_catalog.pg_control_system() AS c)
          = ALL (SELECT s.system_identifier FROM {{schema}}.holdfast_schema s WHERE s.component IN ('outbox', 'relay')))`

// statements are the SQL of this package with the database schema filled in.
// They are immutable after newStatements and safe for concurrent use.
type statements struct {
	session, sessionSettle                string
	scout, read, backlog, page, settle    string
	claim, renew, free, handBack, abandon string
	blocked                               string
	join, leave, forget, writable         string
	unsettled, future, home               string
	statusLanes, statusHeld, statusRelays string
	laneRetries, laneBatches, laneClaim   string
	sessionMeasure                        string
	waitingRows, retained, horizon        string
}

func newStatements(schema string) statements {
	sql := func(name string) string {
		text, err := sqlFiles.ReadFile("sql/" + name + ".sql")
		if err != nil {
			panic("relay: " + name + ".sql is not embedded") // a build without its files
		}
		return strings.NewReplacer("{{schema}}", schema, "{{incarnation}}", incarnation).Replace(strings.ReplaceAll(string(text), "{{home}}", home))
	}
	return statements{
		session: sql("session"), sessionSettle: sql("session_settle"),
		scout: sql("scout"), read: sql("read"), backlog: sql("backlog"), page: sql("page"), settle: sql("settle"),
		claim: sql("claim"), renew: sql("renew"), free: sql("free"), handBack: sql("hand_back"), abandon: sql("abandon"),
		join: sql("join"), leave: sql("leave"), forget: sql("forget"), writable: sql("writable"),
		blocked:   sql("blocked"),
		unsettled: sql("unsettled"), future: sql("future"), home: sql("home"),
		statusLanes: sql("status_lanes"), statusHeld: sql("status_held"), statusRelays: sql("status_relays"),
		laneRetries: sql("lane_retries"), laneBatches: sql("lane_batches"), laneClaim: sql("lane_claim"),
		sessionMeasure: sql("session_measure"), waitingRows: sql("measure_waiting"), retained: sql("measure_retained"), horizon: sql("measure_horizon"),
	}
}
