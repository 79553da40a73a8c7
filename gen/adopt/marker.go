package adopt

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// marker is how a table tells what was published. The conditions are about a row o.
type marker struct {
	columns []string // that it looks at
	// where is true for the rows to move.
	where string
	// forward is true for a new row that has to be forwarded.
	forward string
	// unknown is true for rows that can't be judged; "" if there are none.
	unknown string
	// unknownNew is the same for a new row that has to be forwarded.
	unknownNew string
	// set marks rows as published: the SET clause of an update; "" for a table without a mark.
	set string
	// after is SQL that runs once all is moved; "" for none.
	after string
	// lock names further tables that the old relay works with.
	lock []string
	// require is a condition about the database, and requires what it means.
	require, requires string
	told              string // for a person
	// stays says that a row which is not marked is one that was not published, for ever.
	stays bool
}

// left is true for rows that must not be there when the table is dropped; "" if nothing tells.
func (m *marker) left() string {
	switch {
	case !m.stays:
		return ""
	case m.unknown != "":
		return "(" + m.where + ") OR " + m.unknown
	default:
		return m.where
	}
}

// Known words of a status column.
var (
	unpublishedWords = []string{"pending", "new", "unpublished", "created", "ready", "queued", "unsent"}
	doneWords        = []string{"published", "sent", "processed", "done", "completed", "delivered", "dispatched"}
	// With these it is not known whether the broker has the event.
	flyingWords = []string{"processing", "in_progress", "publishing", "sending", "claimed", "locked"}
)

// marker finds out how the table tells what was published.
func (l *look) marker(ctx context.Context) (*marker, error) {
	m, err := l.findMarker(ctx)
	if m != nil {
		l.holds(m)
		if m.unknown != "true" {
			m.unknownNew = m.unknown
		}
		if l.shape == Watermill {
			m.unknownNew = l.envelope()
		}
	}
	return m, err
}

func (l *look) findMarker(ctx context.Context) (*marker, error) {
	switch {
	case l.opts.Rows != RowsUndecided:
		return l.rowsMarker(), nil
	case l.opts.Published != "" || l.opts.Status == "" && l.table.has(publishedName):
		return l.flagMarker(), nil
	case l.opts.Status != "" || l.table.has(statusName):
		return l.statusMarker(), nil
	case l.shape == Watermill:
		return l.cursorMarker(ctx)
	case l.shape == Copy && l.table.has("seq", "lane", "tx"):
		return l.lanesMarker(ctx)
	default:
		return l.rowsMarker(), nil
	}
}

func (l *look) flagMarker() *marker {
	name := l.opts.Published
	if name == "" {
		name = publishedName
	}
	c := l.table.column(name)
	if c == nil {
		l.reasons.add("name another with --published-column", "there is no column %s", name)
		return nil
	}
	o := "o." + ident(name)
	m := &marker{columns: []string{name}, told: name + " is null", stays: true}
	switch c.Type {
	case "timestamp with time zone", "timestamp without time zone":
		m.where, m.set = o+" IS NULL", ident(name)+" = pg_catalog.clock_timestamp()"
	case "boolean":
		m.where, m.set, m.told = o+" IS NOT TRUE", ident(name)+" = true", name+" is not true"
	default:
		l.reasons.add("name another with --published-column, or say --rows all or --rows none",
			"column %s has the type %s, which does not tell what was published", name, c.Type)
		return nil
	}
	m.forward = m.where
	return m
}

func (l *look) statusMarker() *marker {
	name := l.opts.Status
	if name == "" {
		name = statusName
	}
	c := l.table.column(name)
	if c == nil {
		l.reasons.add("name another with --status-column", "there is no column %s", name)
		return nil
	}
	if !c.isText() {
		l.reasons.add("name another with --status-column", "column %s has the type %s, which has no words", name, c.Type)
		return nil
	}
	without := func(words, others []string) []string {
		return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return slices.Contains(others, w) })
	}
	unpublished := append(without(unpublishedWords, l.opts.Done), l.opts.Unpublished...)
	done := append(without(doneWords, l.opts.Unpublished), l.opts.Done...)
	l.words = append(slices.Clone(unpublished), done...)
	o := "lower(o." + ident(name) + "::text)"
	m := &marker{columns: []string{name}, told: name + " is one of " + strings.Join(unpublished, ", "), stays: true}
	m.where = o + " = ANY (" + array(lower(unpublished)) + ")"
	m.forward = m.where
	m.unknown = "(" + o + " = ANY (" + array(lower(l.words)) + ")) IS NOT TRUE"
	l.status = name
	return m
}

func lower(words []string) []string {
	low := make([]string, len(words))
	for i, w := range words {
		low[i] = strings.ToLower(w)
	}
	return low
}

// cursorMarker reads how far a consumer group of watermill has come.
func (l *look) cursorMarker(ctx context.Context) (*marker, error) {
	topic, ok := strings.CutPrefix(l.table.name, "watermill_")
	offsets := &table{schema: l.table.schema, name: "watermill_offsets_" + topic}
	var exists bool
	if err := l.tx.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", offsets.quoted()).Scan(&exists); err != nil {
		return nil, err
	}
	if !ok || !exists {
		l.reasons.add("say --rows all or --rows none", "table %s, in which watermill keeps what was published, is not there", offsets)
		return nil, nil
	}
	rows, err := l.tx.Query(ctx, "SELECT consumer_group::text FROM "+offsets.quoted()+" ORDER BY 1")
	if err != nil {
		return nil, err
	}
	groups, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	group := l.opts.Group
	if group == "" && len(groups) == 1 {
		group = groups[0]
	} else if !slices.Contains(groups, group) || l.opts.Group == "" {
		l.reasons.add("name the one that forwards to the broker with --consumer-group", "the consumer groups are %q", groups)
		return nil, nil
	}
	where := " WHERE g.consumer_group = " + literal(group)
	m := &marker{
		columns: []string{"offset", "transaction_id"}, lock: []string{offsets.quoted()},
		told:     fmt.Sprintf("behind the cursor of consumer group %q in %s", group, offsets),
		require:  "EXISTS (SELECT FROM " + offsets.quoted() + " AS g" + where + ")",
		requires: fmt.Sprintf("the consumer group %s is not in %s", group, offsets),
	}
	m.where = `(o."transaction_id", o."offset") > (SELECT g.last_processed_transaction_id, coalesce(g.offset_acked, 0) FROM ` + offsets.quoted() + " AS g" + where + ")"
	m.forward, m.unknown = "true", "("+m.where+") AND "+l.envelope()
	m.after = "UPDATE " + offsets.quoted() + ` AS g
     SET last_processed_transaction_id = l."transaction_id", offset_acked = l."offset"
    FROM (SELECT o."transaction_id", o."offset" FROM ` + l.table.quoted() + ` AS o ORDER BY 1 DESC, 2 DESC LIMIT 1) AS l` + "\n   " + where + ";"
	return m, nil
}

// envelope is true for what the forwarder of watermill has wrapped: another event is inside.
func (l *look) envelope() string {
	if l.table.column("payload").isJSON() {
		return `coalesce(o."payload"::jsonb ?& ARRAY['destination_topic', 'uuid', 'payload', 'metadata'], false)`
	}
	return `coalesce(position('"destination_topic"'::bytea IN o."payload"::bytea) > 0, false)`
}

// lanesMarker reads the cursors that relays of ours keep.
func (l *look) lanesMarker(ctx context.Context) (*marker, error) {
	lanes, retry := &table{schema: l.table.schema, name: "outbox_lane"}, &table{schema: l.table.schema, name: "outbox_retry"}
	var hasLanes, hasRetry bool
	if err := l.tx.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL, to_regclass($2) IS NOT NULL", lanes.quoted(), retry.quoted()).Scan(&hasLanes, &hasRetry); err != nil {
		return nil, err
	}
	if !hasLanes {
		return l.rowsMarker(), nil
	}
	m := &marker{
		columns: []string{"seq", "lane", "tx"}, lock: []string{lanes.quoted()},
		told:     fmt.Sprintf("not in drained of its lane in %s", lanes),
		require:  "(SELECT count(DISTINCT g.relay_group) <= 1 FROM " + lanes.quoted() + " AS g)",
		requires: fmt.Sprintf("%s has several relay groups", lanes),
		forward:  "true",
		unknown:  `o."tx" IS NULL`,
	}
	if hasRetry {
		m.lock = append(m.lock, retry.quoted())
		m.require += " AND NOT EXISTS (SELECT FROM " + retry.quoted() + ")"
		m.requires += fmt.Sprintf(", or %s is not empty: let the relay finish its retries first", retry)
	}
	m.where = `NOT EXISTS (SELECT FROM ` + lanes.quoted() + ` AS g WHERE g.lane = o."lane" AND (pg_catalog.pg_visible_in_snapshot(o."tx", g.drained)` +
		` OR g.target IS NOT NULL AND o."seq" <= g.pos AND pg_catalog.pg_visible_in_snapshot(o."tx", g.target)))`
	return m, nil
}

// rowsMarker is for tables that do not tell.
func (l *look) rowsMarker() *marker {
	switch l.opts.Rows {
	case RowsAll:
		m := &marker{where: "true", forward: "true", told: "every row, as you said"}
		if l.shape == Watermill {
			m.unknown = l.envelope()
		}
		return m
	case RowsNone:
		return &marker{where: "false", forward: "true", told: "no row, as you said"}
	default:
		return &marker{where: "false", forward: "true", unknown: "true", told: "no row: the table must be empty"}
	}
}
