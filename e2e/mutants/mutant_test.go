package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/e2e/history"
)

func TestEveryMutantFitsTheSource(t *testing.T) {
	t.Parallel()
	list, err := mutants()
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 15 {
		t.Errorf("%d mutants, at least 15 are wanted", len(list))
	}
	tree, err := findTree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	for _, invariant := range history.Invariants() {
		known = append(known, invariant.Name)
	}
	known = append(known, "no_secrets", "relay_process", "no_race", "mended") // those of chaos itself
	for _, m := range list {
		files, err := m.apply(tree.read)
		if err != nil {
			t.Error(err)
			continue
		}
		for name, text := range files {
			if source, err := tree.read(name); err != nil || source == text {
				t.Errorf("mutant %s does not change %s: %v", m.name, name, err)
			}
		}
		for _, name := range m.caughtBy {
			if !slices.Contains(known, name) {
				t.Errorf("mutant %s: there is no invariant %s", m.name, name)
			}
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := parse("x", "what: a bug\ncaught by: a, b\nfaults: c,d\nwindow: 1s\nfile: f\n<<<<\n\tone\n====\n>>>>\n<<<<\ntwo\n====\n2\n\n2\n>>>>\n")
	if err != nil {
		t.Fatal(err)
	}
	want := &mutant{
		name: "x", what: "a bug", caughtBy: []string{"a", "b"}, faults: "c,d", window: "1s",
		hunks: []hunk{{file: "f", old: "\tone"}, {file: "f", old: "two", new: "2\n\n2"}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(mutant{}, hunk{})); diff != "" {
		t.Errorf("mutant (-want +got):\n%s", diff)
	}
	files, err := got.apply(func(string) (string, error) { return "a\n\tone\ntwo\n", nil })
	if err != nil || files["f"] != "a\n\n2\n\n2\n" {
		t.Errorf("applied: %q, %v", files["f"], err)
	}
	for _, source := range []string{"", "\tone\ntwo two"} {
		if _, err := got.apply(func(string) (string, error) { return source, nil }); err == nil {
			t.Errorf("applied to %q", source)
		}
	}
	for _, text := range []string{
		"", "what: a\ncaught by: b\n", "what: a\ncaught by: b\n<<<<\n====\n>>>>\n", "what: a\ncaught by: b\nfile: f\n<<<<\n====\n",
		"what: a\ncaught by: b\nfile: f\n<<<<\n>>>>\n====\n", "why: a\n",
	} {
		if m, err := parse("x", text); err == nil {
			t.Errorf("%q: parsed %+v", text, m)
		}
	}
}

func TestExpected(t *testing.T) {
	t.Parallel()
	m := &mutant{caughtBy: []string{"a", "b"}}
	if !m.expected([]string{"b", "c"}) || m.expected([]string{"c"}) || m.expected(nil) {
		t.Error("wrong")
	}
	r := result{Caught: true, By: []string{"c"}, Seed: 3}
	if got := r.String(); !strings.Contains(got, "not expected") {
		t.Error(got)
	}
	if got := (result{}).String(); !strings.Contains(got, "SURVIVED") {
		t.Error(got)
	}
}
