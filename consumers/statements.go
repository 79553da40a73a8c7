package consumers

import (
	_ "embed"
	"strings"
)

var (
	//go:embed sql/received.sql
	receivedSQL string
	//go:embed sql/received_all.sql
	receivedAllSQL string
	//go:embed sql/paused.sql
	pausedSQL string
	//go:embed sql/paused_guard.sql
	pausedGuardSQL string
	//go:embed sql/quarantine.sql
	quarantineSQL string
	//go:embed sql/failed.sql
	failedSQL string
	//go:embed sql/bury.sql
	burySQL string
	//go:embed sql/buried.sql
	buriedSQL string
	//go:embed sql/claim_replay.sql
	claimReplaySQL string
	//go:embed sql/end_replay.sql
	endReplaySQL string
	//go:embed sql/prune_inbox.sql
	pruneInboxSQL string
	//go:embed sql/prune_dead.sql
	pruneDeadSQL string
	//go:embed sql/measure.sql
	measureSQL string
	//go:embed sql/control_set.sql
	controlSetSQL string
	//go:embed sql/control_get.sql
	controlGetSQL string
)

// statements are those of one database schema.
type statements struct {
	received, receivedAll, paused    string
	pausedGuard                      string
	quarantine, failed, bury, buried string
	claimReplay, endReplay           string
	pruneInbox, pruneDead, measure   string
	controlSet, controlGet           string
}

func newStatements(schema string) statements {
	in := func(sql string) string { return strings.ReplaceAll(sql, "{{schema}}", schema) }
	return statements{
		received: in(receivedSQL), receivedAll: in(receivedAllSQL),
		paused: in(pausedSQL), pausedGuard: in(pausedGuardSQL), quarantine: in(quarantineSQL), failed: in(failedSQL),
		bury: in(burySQL), buried: in(buriedSQL), claimReplay: in(claimReplaySQL), endReplay: in(endReplaySQL), pruneInbox: in(pruneInboxSQL), pruneDead: in(pruneDeadSQL),
		measure: in(measureSQL), controlSet: in(controlSetSQL), controlGet: in(controlGetSQL),
	}
}
