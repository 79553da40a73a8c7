package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/e2e/history"
	"github.com/holdfast-dev/holdfast/e2e/overlay"
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
		files, err := m.apply(tree.Read)
		if err != nil {
			t.Error(err)
			continue
		}
		for name, text := range files {
			if source, err := tree.Read(name); err != nil || source == text {
				t.Errorf("mutant %s does not change %s: %v", m.name, name, err)
			}
		}
		seers := known
		if m.tests != "" {
			seers = testsOf(t, tree, m.tests)
		}
		for _, name := range m.caughtBy {
			if !slices.Contains(seers, name) {
				t.Errorf("mutant %s: there is no invariant, or test, %s", m.name, name)
			}
		}
	}
}

// testsOf are the names of the tests of a package.
func testsOf(t *testing.T, tree *tree, folder string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(tree.Root, filepath.FromSlash(folder), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(text), -1) {
			names = append(names, match[1])
		}
	}
	return names
}

func TestVerdictOfTests(t *testing.T) {
	t.Parallel()
	exit := errors.New("exit status 1")
	for text, want := range map[string]struct {
		err    error
		failed string
		is     bool // a verdict
	}{
		"ok  \tx/y\t1.2s\n":                                   {nil, "", true},
		"ok  \tx/y\t1.2s [no tests to run]\n":                 {nil, "", false},
		"--- FAIL: TestA (0.1s)\n    --- FAIL: TestA/b\nFAIL": {exit, "TestA", true},
		"# x/y\n./a.go:1: undefined\nFAIL":                    {exit, "", false},
		"panic: test timed out after 9m\n\trunning tests:\n\t\tTestA (8m0s)\n\t\tTestB/c (1s)\n\ngoroutine 1 [running]:": {exit, "TestA,TestB/c", true},
		"panic: something else\n\ngoroutine 1 [running]:\nFAIL":                                                          {exit, "", false},
	} {
		names, err := verdict(text, want.err)
		if (err == nil) != want.is || strings.Join(names, ",") != want.failed {
			t.Errorf("%q: %v, %v", text, names, err)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := parse("x", "what: a bug\ncaught by: a, b\ntests: ./t\nfaults: c,d\nwindow: 1s\nfile: f\n<<<<\n\tone\n====\n>>>>\n<<<<\ntwo\n====\n2\n\n2\n>>>>\n")
	if err != nil {
		t.Fatal(err)
	}
	want := &mutant{
		name: "x", what: "a bug", caughtBy: []string{"a", "b"}, tests: "./t", faults: "c,d", window: "1s",
		patch: &overlay.Patch{Name: "x", Hunks: []overlay.Hunk{{File: "f", Old: "\tone"}, {File: "f", Old: "two", New: "2\n\n2"}}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(mutant{})); diff != "" {
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
		"", "what: a\nfile: f\n<<<<\na\n====\n>>>>\n", "caught by: b\nfile: f\n<<<<\na\n====\n>>>>\n", "what: a\ncaught by: b\n", "what: a\ncaught by: b\n<<<<\n====\n>>>>\n", "what: a\ncaught by: b\nfile: f\n<<<<\n====\n",
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

// TestControlChangesNothing: what is run without a mutant is built by the same steps as a mutant.
func TestControlChangesNothing(t *testing.T) {
	t.Parallel()
	tree, err := findTree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if replace, err := tree.mutate(unchanged(), t.TempDir()); err != nil || len(replace) != 0 {
		t.Errorf("it replaces %v, %v", replace, err)
	}
}
