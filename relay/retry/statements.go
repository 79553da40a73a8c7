package retry

import (
	"embed"
	"strings"

	"github.com/holdfast-dev/holdfast/relay/internal/sqltext"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

// What {{dead}} stands for: the dead letters without their payloads. The relay's role may read
// the table and people's roles the view; the columns are the same.
const (
	deadTable = `(SELECT t.id, t.lane, t.seq, t.event_id, t.source, t.type, t.subject, t.datacontenttype, t.partition_key,
        t.hold_operation_id, t.hold_generation, t.reason_code, encode(t.reason_detail_sha256, 'hex') AS reason_detail_sha256,
        t.attempts, t.requeue_epoch, t.dead_at, t.staged_at, octet_length(t.data) AS data_bytes, t.relay_group
   FROM {{schema}}.outbox_dead_letter t)`
	deadView = "{{schema}}.outbox_dead_letter_info"
)

// sound is what {{sound}} stands for: whether a waiting row is one that this package writes. The
// schema's constraints say the same; a claim does not rely on them. It is never null.
func sound() string {
	return `(r.row_version < 9223372036854775807 AND num_nulls(r.lease_owner, r.lease_token, r.lease_until) IN (0, 3)
          AND CASE r.work_kind
              WHEN 'parked' THEN r.attempts = 0 AND num_nonnulls(r.reason_code, r.reason_detail_sha256) = 0
              WHEN 'retry_scheduled' THEN r.attempts > 0 AND coalesce(octet_length(r.reason_detail_sha256), 0) = 32
                   AND coalesce(r.reason_code, '') IN ('` + strings.Join(codes, "', '") + `')
              ELSE false END)`
}

// home is what {{home}} stands for: whether the cluster that answers is the one that the rows are of.
const home = `(SELECT c.system_identifier FROM pg_catalog.pg_control_system() AS c)
         = ALL (SELECT s.system_identifier FROM {{schema}}.holdfast_schema s WHERE s.component = 'relay')`

// statements returns the SQL of this package by file name, with the database schema filled in.
// What reads dead letters is there twice: with ".info" behind its name it reads the view.
func statements(schema string) map[string]string {
	texts := sqltext.Read(sqlFiles)
	for name, text := range texts {
		if strings.Contains(text, "{{dead}}") {
			texts[name+".info"] = strings.ReplaceAll(text, "{{dead}}", deadView)
		}
	}
	sqltext.Fill(texts, "{{dead}}", deadTable)
	sqltext.Fill(texts, "{{sound}}", sound())
	sqltext.Fill(texts, "{{home}}", home)
	sqltext.Fill(texts, "{{schema}}", schema)
	return texts
}
