package check

import (
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// right is one row of sql/rights.sql: one that is missing, or one that should not be there.
type right struct {
	Relation, Privilege string // no relation: the database schema
	Wanted              bool
}

// log is the table of events, which nobody may change.
const log = "event_outbox"

// rights are what the relay's role needs, and what it should not have. A test holds them
// against those that `outbox-gen roles` grants.
var rights = func() []right {
	var all []right
	add := func(wanted bool, relation string, privileges ...string) {
		for _, p := range privileges {
			all = append(all, right{relation, p, wanted})
		}
	}
	add(true, "holdfast_schema", "SELECT")
	add(true, log, "SELECT")
	add(true, "outbox_lane", "SELECT", "INSERT", "UPDATE")
	add(true, "outbox_relay", "SELECT", "INSERT", "UPDATE", "DELETE")
	add(true, "outbox_batch", "SELECT", "INSERT", "DELETE")
	add(true, "outbox_retry", "SELECT", "INSERT", "UPDATE", "DELETE")
	add(true, "outbox_requeued", "SELECT", "INSERT", "DELETE")
	add(true, "outbox_dead_letter", "SELECT", "INSERT", "DELETE")
	add(true, "outbox_dead_letter_history", "SELECT", "INSERT")
	add(true, "outbox_maintenance", "SELECT", "UPDATE")
	add(false, log, "INSERT", "UPDATE", "DELETE", "TRUNCATE")
	return all
}()

func (d *database) readRights(ctx context.Context, conn *pgxpool.Conn, schema string) error {
	var relations, privileges []string
	var wanted []bool
	for _, r := range rights {
		relations, privileges, wanted = append(relations, r.Relation), append(privileges, r.Privilege), append(wanted, r.Wanted)
	}
	rows, err := conn.Query(ctx, statement("rights", ""), schema, relations, privileges, wanted)
	if err == nil {
		d.wrong, err = pgx.CollectRows(rows, pgx.RowToStructByPos[right])
		slices.SortFunc(d.wrong, func(a, b right) int { return slices.Index(rights, a) - slices.Index(rights, b) })
	}
	return d.answered("rights", err)
}

// some returns the rights that are wrong in one of the two ways, as people write them.
func (d *database) some(wanted bool) string {
	var relations []string
	privileges := map[string][]string{}
	for _, r := range d.wrong {
		if r.Wanted != wanted {
			continue
		}
		if !slices.Contains(relations, r.Relation) {
			relations = append(relations, r.Relation)
		}
		privileges[r.Relation] = append(privileges[r.Relation], r.Privilege)
	}
	var texts []string
	for _, relation := range relations {
		name := relation
		if name == "" {
			name = "the database schema"
		}
		texts = append(texts, strings.Join(privileges[relation], ", ")+" on "+name)
	}
	return strings.Join(texts, "; ")
}

func rightsFinding(f *facts) Finding {
	const hint = "grant the role its rights: outbox-gen roles writes the statements"
	if err := f.db.refused["rights"]; err != nil {
		return refusedFinding(err)
	}
	if missing := f.db.some(true); missing != "" {
		return fail(hint, "role %s lacks %s", f.db.server.Role, missing)
	}
	return ok("role %s has the rights that a relay needs", f.db.server.Role)
}

func leastRightsFinding(f *facts) Finding {
	const hint = "let the relay log in with a role of its own that cannot change events: outbox-gen roles writes one"
	if f.db.server.Superuser {
		return warn(hint, "role %s is a superuser", f.db.server.Role)
	}
	if excess := f.db.some(false); excess != "" {
		return warn(hint, "role %s may %s, which a relay never does", f.db.server.Role, excess)
	}
	return ok("role %s cannot change the log of events", f.db.server.Role)
}
