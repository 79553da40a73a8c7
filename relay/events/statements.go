package events

import (
	"embed"
	"strings"

	"github.com/holdfast-dev/holdfast/relay/internal/sqltext"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

// What {{log}} and {{dead}} stand for where the views may not be read: the same columns of the tables.
const (
	logTable = `(SELECT t.event_id, t.source, t.type, t.subject, t."time", t.partition_key, t.datacontenttype, t.dataschema, t.extensions,
        octet_length(t.data) AS data_bytes, t.hold_operation_id, t.hold_generation, t.staged_at, t.lane, t.seq, t.slot, t.tx
   FROM {{schema}}.event_outbox t)`
	deadTable = `(SELECT t.event_id, t.source, t.type, t.subject, t."time", t.partition_key, t.datacontenttype, t.dataschema, t.extensions,
        octet_length(t.data) AS data_bytes, t.hold_operation_id, t.hold_generation, t.staged_at, t.lane, t.seq, t.relay_group
   FROM {{schema}}.outbox_dead_letter t)`
	logView  = "{{schema}}.event_outbox_info"
	deadView = "{{schema}}.outbox_dead_letter_info"
)

// statements returns the SQL of this package by the names of its files, with the database schema filled in,
// for a login that may read the views or the tables.
func statements(schema string, logInView, deadInView bool) map[string]string {
	texts := sqltext.Read(sqlFiles)
	state, columns := strings.TrimSpace(texts["state"]), strings.TrimSpace(texts["columns"])
	delete(texts, "state") // expressions of others, and no statements
	delete(texts, "columns")
	log, dead := logTable, deadTable
	if logInView {
		log = logView
	}
	if deadInView {
		dead = deadView
	}
	sqltext.Fill(texts, "{{state}}", state)
	sqltext.Fill(texts, "{{columns}}", columns)
	sqltext.Fill(texts, "{{log}}", log)
	sqltext.Fill(texts, "{{dead}}", dead)
	sqltext.Fill(texts, "{{schema}}", schema)
	return texts
}
