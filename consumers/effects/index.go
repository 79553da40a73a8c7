package effects

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// bare are constants that the catalog may spell without quotes.
var bare = regexp.MustCompile(`^(-?[0-9.]+|true|false)$`)

// IsIndex is the condition for a row of pg_index to be the unique index of the key: its columns and their order,
// the columns that its predicate is on, and the constants in that. It judges in a transaction that may not
// write; how the catalog spells the whole index is compared by package repair.
func (t Table) IsIndex(alias string) string {
	keys, columns := []string{t.Account}, []string{t.Account}
	for _, p := range t.Key {
		columns = append(columns, p.Column)
		if p.Field != "" {
			keys = append(keys, "") // an expression
		} else {
			keys = append(keys, p.Column)
		}
	}
	columns = slices.AppendSeq(columns, maps.Keys(t.Only))
	constants := slices.Sorted(maps.Values(t.Only))
	if t.Marker != "" {
		columns, constants = append(columns, t.Marker), append(constants, Canonical)
	}
	slices.Sort(columns)
	conditions := []string{fmt.Sprintf("%[1]s.indisunique AND %[1]s.indisvalid AND %[1]s.indisready AND %[1]s.indislive AND %[1]s.indnkeyatts = %[2]d AND (%[1]s.indpred IS NOT NULL) = %[3]t",
		alias, len(keys), len(constants) > 0)}
	predicate := fmt.Sprintf("coalesce(pg_get_expr(%[1]s.indpred, %[1]s.indrelid), '')", alias)
	for _, value := range constants {
		spelled := "'" + strings.ReplaceAll(value, "'", "''") + "'"
		if bare.MatchString(value) {
			spelled = value
		}
		conditions = append(conditions, fmt.Sprintf("strpos(%s, %s) > 0", predicate, Literal(spelled)))
	}
	conditions = append(conditions,
		fmt.Sprintf(`ARRAY(SELECT coalesce(a.attname::text, '') FROM unnest(%[1]s.indkey::int2[]) WITH ORDINALITY AS k (attribute, at)
			LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid = %[1]s.indrelid AND a.attnum = k.attribute AND k.attribute > 0
			WHERE k.at <= %[1]s.indnkeyatts ORDER BY k.at) = %[2]s`, alias, array(keys)),
		fmt.Sprintf(`ARRAY(SELECT DISTINCT a.attname::text COLLATE "C" FROM pg_catalog.pg_attribute AS a
			WHERE a.attrelid = %[1]s.indrelid AND (a.attnum = ANY (%[1]s.indkey::int2[])
			   OR EXISTS (SELECT FROM pg_catalog.pg_depend AS d WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = %[1]s.indexrelid
			                 AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = %[1]s.indrelid AND d.refobjsubid = a.attnum))
			ORDER BY 1) = %[2]s`, alias, array(slices.Compact(columns))))
	return strings.Join(conditions, " AND ")
}

func array(values []string) string {
	literals := make([]string, len(values))
	for i, v := range values {
		literals[i] = Literal(v)
	}
	return "ARRAY[" + strings.Join(literals, ", ") + "]::text[]"
}
