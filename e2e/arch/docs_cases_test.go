package arch_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDocsRules breaks each rule about documents once.
func TestDocsRules(t *testing.T) {
	t.Parallel()
	const fence = "```"
	record := func(number, title string) []byte {
		return []byte("# " + number + ". " + title + "\n\n- Date: 2026-11-29\n- Status: accepted\n")
	}
	for _, c := range []struct {
		name  string
		check func(map[string][]byte) []string
		files map[string][]byte
		want  []string
	}{
		{"links", checkLinks, map[string][]byte{
			"docs/a.md": []byte("# The `drain`, in short\n[b](b.md) [top](../Makefile) [here](#the-drain-in-short) [dir](../docs) [web](https://example.com/x)\n" +
				"[gone](gone.md) [lost](b.md#lost)\n" + fence + "\n[code](nowhere)\n" + fence + "\n"),
			"docs/b.md": []byte("# B\n"),
			"Makefile":  []byte("demo:\n"),
		}, []string{
			"docs/a.md: link to gone.md, which does not exist",
			"docs/a.md: link to b.md#lost, which has no such heading",
		}},
		{"make targets", checkTargets, map[string][]byte{
			"README.md": []byte("Run `make demo`, which does not make sense of `make it-up`.\n" + fence + "sh\nmake demo SERVE=1\n$ make tests\n" + fence + "\n"),
			"Makefile":  []byte("X := 1\ndemo: ## run\n"),
		}, []string{
			"README.md: make it-up, which is no target of the Makefile",
			"README.md: make tests, which is no target of the Makefile",
		}},
		{"examples", checkExamples, map[string][]byte{
			"README.md": []byte(fence + "go\nif err := f(); err != nil {\n\treturn err\n}\n" + fence + "\n\n" +
				fence + "go\nf(1)\n" + fence + "\n\n" + fence + "sh\nls\n" + fence + "\n"),
			"outbox/example_test.go": []byte("package p\n\nfunc Example() {\n\tif err := f(); err != nil {\n\t\treturn err\n\t}\n\tif f(1) {\n\t}\n}\n"),
		}, []string{`README.md: the Go example that begins "f(1)" stands in no Go file; copy it from an Example function`}},
		{"records", checkRecords, map[string][]byte{
			"docs/decisions/README.md":   []byte("| [0001](0001-a.md) | A | accepted |\n| [0003](0003-c.md) | Sea | accepted |\n"),
			"docs/decisions/template.md": []byte("# NNNN. A\n"),
			"docs/decisions/0001-a.md":   record("0001", "A"),
			"docs/decisions/0002-b.md":   []byte("# 0002. B\n"),
			"docs/decisions/0003-c.md":   record("0003", "C"),
			"docs/decisions/0005-e.md":   record("0005", "E"),
			"docs/decisions/0005-f.md":   record("0005", "F"),
			"docs/decisions/0007-g.md":   record("0006", "G"),
		}, []string{
			"docs/decisions/0002-b.md: a record is NNNN-name.md and begins with its title, date and status, as the template does",
			"docs/decisions/0003-c.md: not in the index with this title and status",
			"docs/decisions/0005-e.md: not in the index with this title and status",
			"docs/decisions/0005-f.md: the number is that of another record, or not the one in the title",
			"docs/decisions/0005-f.md: not in the index with this title and status",
			"docs/decisions/0007-g.md: the number is that of another record, or not the one in the title",
			"docs/decisions/0007-g.md: not in the index with this title and status",
		}},
		{"reasons", checkReasons, map[string][]byte{
			"docs/decisions/0001-a.md": []byte("`example.com/known/v2`, and `example.com/lint` of the tools\n"),
			"go.mod": []byte("module example.com/m\n\ngo 1.26.0\n\nrequire (\n\texample.com/known/v2 v2.0.1\n\texample.com/known v1.0.0\n" +
				"\texample.com/far v1.0.0 // indirect\n)\n\nrequire example.com/single v0.1.0\n\n" +
				"tool (\n\texample.com/lint/cmd/lint\n\texample.com/other/cmd/other\n)\n"),
		}, []string{
			"go.mod: example.com/known has no reason in docs/decisions",
			"go.mod: example.com/single has no reason in docs/decisions",
			"go.mod: tool example.com/other/cmd/other has no reason in docs/decisions",
		}},
		{"changelog", checkChangelog, map[string][]byte{
			"CHANGELOG.md": []byte("# Changelog\n\n## [1.0.0]\n"),
		}, []string{"CHANGELOG.md: no section [Unreleased]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, c.check(c.files)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}
