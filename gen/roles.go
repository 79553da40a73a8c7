package gen

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/holdfast-dev/holdfast/schema/canonical"
	"github.com/holdfast-dev/holdfast/schema/catalog"
)

// RoleNames names the database role for each role. Those that are left out have the name of
// the database schema in front: outbox_producer, outbox_relay and so on.
type RoleNames map[canonical.Role]string

// Name returns the database role for a role.
func (n RoleNames) Name(role canonical.Role, schema string) string {
	if name := n[role]; name != "" {
		return name
	}
	return schema + "_" + string(role)
}

// All returns the database role of every role.
func (n RoleNames) All(schema string) map[canonical.Role]string {
	all := map[canonical.Role]string{}
	for _, role := range canonical.Roles() {
		all[role] = n.Name(role, schema)
	}
	return all
}

// Roles returns SQL that makes the least-privilege roles of the components, and of what they
// need. The owner of the schema runs it, in one transaction, as often as one likes: each
// time the roles end up with the rights that [canonical.Rights] lists and no others on our
// objects. Roles that exist are used as they are, so it needs the right to create
// roles only where one is missing.
func Roles(params canonical.Params, names RoleNames, components ...canonical.Component) (string, error) {
	params = params.WithDefaults()
	if err := errors.Join(params.Validate(), names.validate(params.Schema)); err != nil {
		return "", fmt.Errorf("write roles: %w", err)
	}
	if len(components) == 0 {
		components = canonical.Components()
	}
	objects, err := catalog.NamesOf(params, components...)
	if err != nil {
		return "", fmt.Errorf("write roles: %w", err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, rolesHead, params.Schema, names.quoted(canonical.Producer, params.Schema))
	writeCreateRoles(&b, names, params.Schema)
	writeRevokes(&b, params.Schema, names, objects)
	for _, role := range canonical.Roles() {
		fmt.Fprintf(&b, "\n-- %s: %s.\n", role, purposes[role])
		for _, r := range canonical.Rights(role, components...) {
			fmt.Fprintf(&b, "GRANT %s ON %s TO %s;\n", privileges(r), grantedOn(r, params.Schema), names.quoted(role, params.Schema))
		}
	}
	return b.String(), nil
}

const rolesHead = `-- The roles of the outbox in the database schema %s, each with the least rights for its
-- work. Give logins their rights by membership: GRANT %s TO my_service.
-- Run this as the owner of the schema, in one transaction, and again after an upgrade.
`

var purposes = map[canonical.Role]string{
	canonical.Producer:    "stages events; reads none, and changes none that is staged",
	canonical.Drainer:     "reads events and keeps the relay's state; changes no event",
	canonical.Operator:    "decides about holds and dead letters; sees no payload",
	canonical.Maintainer:  "looks after retention; sees no payload",
	canonical.Claimer:     "claims facts and keeps the state of a consumer; changes no fact",
	canonical.Coordinator: "claims, runs and reconciles operations; decides nothing about holds",
	canonical.Auditor:     "reads what happened; sees no payload and changes nothing",
}

// writeCreateRoles creates what is missing. There is no CREATE ROLE IF NOT EXISTS, and
// another session may create the role at the same moment.
func writeCreateRoles(b *strings.Builder, names RoleNames, schema string) {
	var literals []string
	for _, role := range canonical.Roles() {
		literal := "'" + strings.ReplaceAll(names.Name(role, schema), "'", "''") + "'"
		if strings.Contains(literal, `\`) { // whatever standard_conforming_strings says
			literal = "E" + strings.ReplaceAll(literal, `\`, `\\`)
		}
		if !slices.Contains(literals, literal) {
			literals = append(literals, literal)
		}
	}
	list, tag := strings.Join(literals, ", "), "$roles$"
	for strings.Contains(list, tag) { // no name may end the statement
		tag = tag[:len(tag)-1] + "_$"
	}
	fmt.Fprintf(b, `
DO %[1]s
DECLARE
  wanted text;
BEGIN
  FOREACH wanted IN ARRAY ARRAY[%[2]s] LOOP
    BEGIN
      IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = wanted) THEN
        EXECUTE pg_catalog.format('CREATE ROLE %%I NOLOGIN', wanted);
      END IF;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN
      NULL; -- somebody else was faster
    END;
  END LOOP;
END
%[1]s;
`, tag, list)
}

// writeRevokes takes away what an older version, or a person, has granted. It comes before
// every grant, because one database role may stand for several roles.
func writeRevokes(b *strings.Builder, schema string, names RoleNames, objects catalog.Names) {
	var from []string
	for _, role := range canonical.Roles() {
		if name := names.quoted(role, schema); !slices.Contains(from, name) {
			from = append(from, name)
		}
	}
	everyone := strings.Join(from, ", ")
	fmt.Fprintf(b, "\n-- Every right that an earlier version gave, and more.\nREVOKE ALL ON SCHEMA %s FROM %s;\n", schema, everyone)
	for _, list := range []struct {
		kind  string
		names []string
	}{{"DOMAIN", objects.Domains}, {"TABLE", objects.Tables}, {"SEQUENCE", objects.Sequences}, {"FUNCTION", objects.Functions}} {
		qualified := make([]string, len(list.names))
		for i, name := range list.names {
			qualified[i] = "\n  " + schema + "." + name
		}
		if len(qualified) > 0 {
			fmt.Fprintf(b, "REVOKE ALL ON %s%s\nFROM %s;\n", list.kind, strings.Join(qualified, ","), everyone)
		}
	}
}

func privileges(r canonical.Right) string {
	list := strings.Join(r.Privileges, ", ")
	if r.Columns != nil {
		list += " (" + strings.Join(r.Columns, ", ") + ")"
	}
	return list
}

func grantedOn(r canonical.Right, schema string) string {
	if r.Name == "" {
		return r.Kind + " " + schema
	}
	return r.Kind + " " + schema + "." + r.Name
}

// validate refuses names that Postgres would cut short, that no role can have, or that would end a line of the SQL.
func (n RoleNames) validate(schema string) error {
	var errs []error
	for _, role := range canonical.Roles() {
		switch name := n.Name(role, schema); {
		case len(name) > 63:
			errs = append(errs, fmt.Errorf("role %s: the name %q is longer than 63 bytes", role, name))
		case strings.ContainsFunc(name, unicode.IsControl):
			errs = append(errs, fmt.Errorf("role %s: the name %q has a control character", role, name))
		case strings.HasPrefix(name, "pg_") || name == "public" || name == "none":
			errs = append(errs, fmt.Errorf("role %s: %q cannot be the name of a role", role, name))
		}
	}
	return errors.Join(errs...)
}

// quoted writes the name of a role. Those that we make need no quotes.
func (n RoleNames) quoted(role canonical.Role, schema string) string {
	if n[role] == "" {
		return n.Name(role, schema)
	}
	return `"` + strings.ReplaceAll(n[role], `"`, `""`) + `"`
}
