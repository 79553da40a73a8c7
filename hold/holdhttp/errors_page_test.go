package holdhttp_test

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/hold/wire"
)

// docs/errors.md has every type of problem, with its status, and no other.
func TestPageOfErrorsHasEveryProblem(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(urn:holdfast:problem:[a-z-]+)` \\| ([0-9, ]+) \\|").FindAllStringSubmatch(string(text), -1) {
		rows[m[1]] = m[2]
	}
	for _, kind := range wire.ProblemTypes() {
		k, _ := kind.Kind()
		if status, found := rows[string(kind)]; !found || !strings.HasPrefix(status, strconv.Itoa(k.Status)) {
			t.Errorf("the page has %q for %s, want %d", status, kind, k.Status)
		}
		delete(rows, string(kind))
	}
	for name := range rows {
		t.Errorf("the page has %s, which is no problem", name)
	}
}
