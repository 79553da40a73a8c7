package overlay_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/e2e/overlay"
)

func TestParse(t *testing.T) {
	t.Parallel()
	what := ""
	field := func(name, value string) bool {
		what += value
		return name == "what"
	}
	got, err := overlay.Parse("x", "what: a bug\nfile: f\n<<<<\n\tone\n====\n>>>>\n<<<<\ntwo\n====\n2\n\n2\n>>>>\n", field)
	if err != nil || what != "a bug" {
		t.Fatalf("%v, what %q", err, what)
	}
	want := &overlay.Patch{Name: "x", Hunks: []overlay.Hunk{{File: "f", Old: "\tone"}, {File: "f", Old: "two", New: "2\n\n2"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("patch (-want +got):\n%s", diff)
	}
	for _, text := range []string{
		"", "what: a\n", "<<<<\n====\n>>>>\n", "file: f\n<<<<\n====\n", "file: f\n<<<<\n>>>>\n====\n", "why: a\nfile: f\n<<<<\na\n====\n>>>>\n",
	} {
		if p, err := overlay.Parse("x", text, field); err == nil {
			t.Errorf("%q: parsed %+v", text, p)
		}
	}
}

func TestApplyWantsItsTextOnce(t *testing.T) {
	t.Parallel()
	p := &overlay.Patch{Name: "x", Hunks: []overlay.Hunk{{File: "f", Old: "\tone"}, {File: "f", Old: "two", New: "2"}}}
	apply := func(source string) (map[string]string, error) {
		files := map[string]string{}
		return files, p.Apply(files, func(string) (string, error) { return source, nil })
	}
	if files, err := apply("a\n\tone\ntwo\n"); err != nil || files["f"] != "a\n\n2\n" {
		t.Errorf("applied: %q, %v", files, err)
	}
	for _, source := range []string{"", "\tone\ntwo two"} {
		if _, err := apply(source); err == nil || !strings.Contains(err.Error(), "patch x: its text is in f") {
			t.Errorf("applied to %q: %v", source, err)
		}
	}
}
