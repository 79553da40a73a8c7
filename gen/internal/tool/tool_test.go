package tool_test

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/gen/internal/tool"
)

var clock = time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)

func find(t *testing.T, name string) tool.Tool {
	t.Helper()
	found, ok := tool.Find(name)
	if !ok {
		t.Fatalf("no tool %s", name)
	}
	return found
}

func TestNext(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tool, last, want string }{
		{"goose", "", "20261129100000"},
		{"golang-migrate", "", "20261129100000"},
		{"dbmate", "", "20261129100000"},
		{"atlas", "", "20261129100000"},
		{"tern", "", "001"},
		{"flyway", "", "1"},
		{"plain", "", "0001"},
		{"goose", "7", "8"},
		{"goose", "00099", "00100"},
		{"goose", "20250101000000", "20261129100000"},
		{"goose", "20261129100000", "20261129100001"},
		{"goose", "20301231235959", "20310101000000"},
		{"goose", "20259999999999", "20260000000000"}, // fourteen digits that are no time
		{"golang-migrate", "1700000000", "1795946400"},
		{"golang-migrate", "1795946400", "1795946401"},
		{"golang-migrate", "000099", "000100"},
		{"tern", "20250101", "20250102"},
		{"tern", "009", "010"},
		{"flyway", "9", "10"},
		{"flyway", "1.9", "1.10"},
		{"flyway", "2_01", "2_02"},
		{"plain", "0099", "0100"},
	} {
		got, err := find(t, c.tool).Next(c.last, clock)
		if err != nil || got != c.want {
			t.Errorf("%s: Next(%q) = %q, %v, want %q", c.tool, c.last, got, err, c.want)
		}
	}
}

func TestNextFails(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tool, last, want string }{
		{"plain", "99", "plain would run 100 before 99"},
		{"dbmate", "9", "dbmate would run 10 before 9"},
		{"atlas", "999", "atlas would run 1000 before 999"},
		{"tern", "2147483647", "2147483648 is greater than 2147483647, the greatest that tern reads"},
		{"goose", "9223372036854775807", "used up"},
		{"goose", strings.Repeat("9", 40), "used up"},
	} {
		if got, err := find(t, c.tool).Next(c.last, clock); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Next(%q) = %q, %v, want %q", c.tool, c.last, got, err, c.want)
		}
	}
}

func TestPrevious(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tool, number, want string }{
		{"plain", "0010", "0009"},
		{"plain", "0001", ""},
		{"goose", "20260101000000", "20251231235959"},
		{"flyway", "1.10", "1.09"},
	} {
		if got, ok := find(t, c.tool).Previous(c.number); got != c.want || ok != (c.want != "") {
			t.Errorf("%s: Previous(%q) = %q, want %q", c.tool, c.number, got, c.want)
		}
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tool, a, b string
		want       int
	}{
		{"goose", "9", "10", -1},
		{"goose", "0010", "10", 0},
		{"golang-migrate", "20250101000000", "3", 1},
		{"dbmate", "9", "10", 1},
		{"flyway", "1.2", "1.10", -1},
		{"flyway", "1_2", "1.2.0", 0},
		{"flyway", "2", "1.10", 1},
	} {
		got := find(t, c.tool).Compare(c.a, c.b)
		if max(min(got, 1), -1) != c.want {
			t.Errorf("%s: Compare(%q, %q) = %d, want %d", c.tool, c.a, c.b, got, c.want)
		}
	}
}

// Every tool reads the names that it gives, and leaves alone what it would not run.
func TestNames(t *testing.T) {
	t.Parallel()
	for _, one := range tool.All() {
		for _, part := range one.Parts {
			file := one.FileName("0012", "holdfast_outbox_v1", part)
			got, ok := one.Parse(file)
			if want := (tool.Name{Number: "0012", Description: "holdfast_outbox_v1", Part: part}); !ok || got != want {
				t.Errorf("%s: Parse(%q) = %+v, want %+v", one.Name, file, got, want)
			}
		}
		for _, file := range []string{"README.md", "atlas.sum", "schema.sql", "tern.conf", "0001_x.txt", "_x.sql", "R__views.sql", "x_0001.sql", ".sql"} {
			if got, ok := one.Parse(file); ok {
				t.Errorf("%s: Parse(%q) = %+v, want nothing", one.Name, file, got)
			}
		}
	}
	for _, file := range []string{"0_x.sql", "0001_x_test.go"} {
		if _, ok := find(t, "goose").Parse(file); ok {
			t.Errorf("goose reads %s", file)
		}
	}
}

// A text that a tool would take for its own is refused before a file is written.
func TestRenderRefuses(t *testing.T) {
	t.Parallel()
	for name, sql := range map[string]string{
		"goose":  "SELECT 1;\n-- +goose Down\n",
		"dbmate": "SELECT 1;\n-- migrate:down\n",
		"tern":   "SELECT '{{ .user }}';\n",
		"flyway": "SELECT '${user}';\n",
		"atlas":  "-- atlas:delimiter x\nSELECT 1;\n",
	} {
		if _, err := find(t, name).Render(tool.Migration{SQL: sql, Refusal: "SELECT 1;\n"}); err == nil {
			t.Errorf("%s takes %q", name, sql)
		}
	}
	for _, sql := range []string{"SELECT 1; SELECT 2;\n", "SELECT 1\n"} {
		if _, err := find(t, "goose").Render(tool.Migration{SQL: sql, Refusal: "SELECT 1;\n"}); err == nil {
			t.Errorf("goose takes %q", sql)
		}
	}
}
