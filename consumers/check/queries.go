package check

import (
	"embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/consumers/effects"
	"github.com/holdfast-dev/holdfast/consumers/internal/statement"
)

//go:embed sql/*.sql
var files embed.FS

// statement returns what finds that which breaks an invariant. Each query gives (id, what, since).
func (i Invariant) statement(schema string, t effects.Table) string {
	texts := statement.Read(files, schema)
	query := t.Fill(texts[i.query], schema, "{{same}}", sameAttributes(t), "{{negated}}", negated(t))
	return strings.ReplaceAll(texts["found"], "{{query}}", query)
}

// sameAttributes compares the attributes of the effect e with those of its fact f.
func sameAttributes(t effects.Table) string {
	same := []string{"true"}
	for _, name := range slices.Sorted(maps.Keys(t.Attributes)) {
		same = append(same, fmt.Sprintf("e.%s::text IS NOT DISTINCT FROM f.attributes ->> %s", effects.Quote(t.Attributes[name]), effects.Literal(name)))
	}
	return strings.Join(same, " AND ")
}

// negated says that the reversal r takes back what e is.
func negated(t effects.Table) string {
	if t.Reversal == nil {
		return "true"
	}
	var same []string
	for _, column := range t.Reversal.Negate {
		same = append(same, fmt.Sprintf("r.%[1]s = -e.%[1]s", effects.Quote(column)))
	}
	return strings.Join(same, " AND ")
}
