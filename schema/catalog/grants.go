package catalog

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// grant is one privilege on one object or one column.
type grant struct {
	kind, object, privilege, column string
}

// holdings are what roles have, by the name of the role.
type holdings struct {
	exists             map[string]bool
	effective, granted map[string]map[grant]bool
}

var rightsSQL = statement("rights_held")

// Grants compares the rights of database roles with what their work needs: what they lack,
// which matters, and what was granted to them by name beyond it, which no promise of ours
// depends on, except that nobody but the owner changes the log. A role may stand for several
// kinds of work.
func Grants(ctx context.Context, db DB, params canonical.Params, components []canonical.Component, roles map[canonical.Role]string) ([]Difference, error) {
	params = params.WithDefaults()
	names, err := NamesOf(params, components...)
	if err != nil {
		return nil, fmt.Errorf("read rights: %w", err)
	}
	session, err := begin(ctx, db, reading)
	if err != nil {
		return nil, fmt.Errorf("read rights in schema %s: begin: %w", params.Schema, err)
	}
	defer session.end(ctx)
	have, err := readRights(ctx, session.conn, params.Schema, names, roles)
	if err != nil {
		return nil, fmt.Errorf("read rights in schema %s: %w", params.Schema, err)
	}
	want := map[string]map[grant]bool{}
	for role, name := range roles {
		if want[name] == nil {
			want[name] = map[grant]bool{}
		}
		for _, r := range canonical.Rights(role, components...) {
			for _, g := range grantsOf(r) {
				want[name][g] = true
			}
		}
	}
	var found []Difference
	for _, name := range slices.Sorted(maps.Keys(want)) {
		found = append(found, have.compare(params.Schema, name, want[name])...)
	}
	return found, nil
}

// grantsOf writes a right out, one privilege and one column at a time.
func grantsOf(r canonical.Right) []grant {
	var all []grant
	for _, privilege := range r.Privileges {
		if r.Columns == nil {
			all = append(all, grant{r.Kind, r.Name, privilege, ""})
		}
		for _, column := range r.Columns {
			all = append(all, grant{r.Kind, r.Name, privilege, column})
		}
	}
	return all
}

func readRights(ctx context.Context, conn *pgx.Conn, schema string, names Names, roles map[canonical.Role]string) (*holdings, error) {
	var who, functions []string
	for _, name := range roles {
		who = append(who, name)
	}
	for _, signature := range names.Functions {
		functions = append(functions, functionName(signature))
	}
	rows, err := conn.Query(ctx, rightsSQL, schema, who, slices.Concat(names.Tables, names.Sequences), functions, names.Domains)
	if err != nil {
		return nil, err
	}
	have := &holdings{exists: map[string]bool{}, effective: map[string]map[grant]bool{}, granted: map[string]map[grant]bool{}}
	var role, how string
	var g grant
	_, err = pgx.ForEachRow(rows, []any{&role, &how, &g.kind, &g.object, &g.privilege, &g.column}, func() error {
		switch how {
		case "role":
			have.exists[role] = true
			have.effective[role], have.granted[role] = map[grant]bool{}, map[grant]bool{}
		case "effective":
			have.effective[role][g] = true
		default:
			have.granted[role][g] = true
		}
		return nil
	})
	return have, err
}

// compare compares the rights of one role.
func (h *holdings) compare(schema, role string, want map[grant]bool) []Difference {
	if !h.exists[role] {
		return []Difference{{
			Object: Object{Kind: kindRole, Name: role}, Property: propExistence, Expected: present, Actual: missing, Matters: true,
			Mend: fmt.Sprintf("CREATE ROLE %s NOLOGIN; -- and then what `outbox-gen roles` prints", quote(role)),
		}}
	}
	var lacking, beyond []grant
	for g := range want {
		if !h.effective[role][g] {
			lacking = append(lacking, g)
		}
	}
	for g := range h.granted[role] {
		whole := grant{g.kind, g.object, g.privilege, ""}
		if !want[g] && !want[whole] {
			beyond = append(beyond, g)
		}
	}
	found := differ(schema, role, lacking, "granted", "not granted", "GRANT %s ON %s TO %s;", func(grant) bool { return true })
	return append(found, differ(schema, role, beyond, "not granted", "granted", "REVOKE %s ON %s FROM %s;", changesLog)...)
}

// changesLog reports whether a right lets its owner change what is staged.
func changesLog(g grant) bool {
	return strings.HasPrefix(g.object, "event_outbox") && slices.Contains([]string{"UPDATE", "DELETE", "TRUNCATE", "TRIGGER"}, g.privilege)
}

// differ reports grants, those on columns of one object together.
func differ(schema, role string, grants []grant, expected, actual, mend string, matters func(grant) bool) []Difference {
	columns := map[grant][]string{}
	for _, g := range grants {
		whole := grant{g.kind, g.object, g.privilege, ""}
		columns[whole] = append(columns[whole], g.column)
	}
	var found []Difference
	for _, g := range slices.SortedFunc(maps.Keys(columns), compareGrants) {
		privilege := g.privilege
		slices.Sort(columns[g])
		if names := columns[g]; names[0] != "" {
			privilege += " (" + strings.Join(names, ", ") + ")"
		}
		on := g.kind + " " + strings.TrimSuffix(schema+"."+g.object, ".")
		found = append(found, Difference{
			Object:   Object{Kind: kindGrant, Name: fmt.Sprintf("%s on %s to %s", privilege, strings.TrimSpace(strings.ToLower(g.kind)+" "+g.object), role)},
			Property: propExistence, Expected: expected, Actual: actual, Matters: matters(g),
			Mend: fmt.Sprintf(mend, privilege, on, quote(role)),
		})
	}
	return found
}

func compareGrants(a, b grant) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.object, b.object), cmp.Compare(a.privilege, b.privilege))
}
