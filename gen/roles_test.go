package gen_test

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// TestRolesRefuseControlCharacters: a name stands in a comment too, and a line break would leave it.
func TestRolesRefuseControlCharacters(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"x\nDROP TABLE t;--", "x\rDROP TABLE t;--", "x\x00", "x\ty", "x\u0085y"} {
		sql, err := gen.Roles(canonical.DefaultParams(), gen.RoleNames{canonical.Producer: name})
		if err == nil || !strings.Contains(err.Error(), "role producer: the name ") || sql != "" {
			t.Errorf("name %q: error %v", name, err)
		}
	}
}

// TestRolesQuoteNames: no name ends a text, a body or a comment.
func TestRolesQuoteNames(t *testing.T) {
	t.Parallel()
	sql, err := gen.Roles(canonical.DefaultParams(), gen.RoleNames{canonical.Producer: `it's "x" \$roles$`, canonical.Drainer: "$roles_$"})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`GRANT "it's ""x"" \$roles$" TO my_service.`,
		"DO $roles__$\n", "\n$roles__$;\n",
		`ARRAY[E'it''s "x" \\$roles$', '$roles_$',`,
	} {
		if !strings.Contains(sql, want) {
			t.Errorf("there is no %s in:\n%s", want, sql)
		}
	}
}
