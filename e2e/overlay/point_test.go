package overlay_test

import (
	"testing"
	"testing/fstest"

	"github.com/holdfast-dev/holdfast/e2e/overlay"
)

func TestPointsSayWhatIsTrueAndDie(t *testing.T) {
	t.Parallel()
	const hunk = "file: f\n<<<<\none\n====\none\ncrashAt(\"here\")\n>>>>\n"
	list, err := overlay.Points(fstest.MapFS{"p/here.point": {Data: []byte("what: so\ntable: before\n" + hunk)}}, "p")
	if err != nil || len(list) != 1 || list[0].Name != "here" || list[0].What != "so" || list[0].Table != "before" {
		t.Fatalf("points %+v, %v", list, err)
	}
	for name, text := range map[string]string{
		"here":  hunk,
		"there": "what: so\n" + hunk,
		"other": "what: so\nwhen: later\n" + hunk,
	} {
		if list, err := overlay.Points(fstest.MapFS{"p/" + name + ".point": {Data: []byte(text)}}, "p"); err == nil {
			t.Errorf("%s: read %+v", name, list)
		}
	}
}

func TestCrashTable(t *testing.T) {
	t.Parallel()
	tree, err := overlay.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lines, err := tree.CrashTable("relay/doc.go")
	if err != nil || len(lines) < 5 || lines[0] != "before publish" {
		t.Errorf("lines %q, %v", lines, err)
	}
	if lines, err := tree.CrashTable("e2e/overlay/doc.go"); err == nil {
		t.Errorf("a table where there is none: %q", lines)
	}
}
