package arch_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const requirements = "docs/requirements.md"

// requirementRange are the items of one requirement: prefix-1 to prefix-last. An id that was given
// out stays.
type requirementRange struct {
	prefix string
	last   int
}

var requirementRanges = []requirementRange{
	{prefix: "S004", last: 76},  // waiting events and dead letters
	{prefix: "S002", last: 218}, // holds, receipts, saga
	{prefix: "S000", last: 50},  // consumers and repair
	{prefix: "S001", last: 97},  // facts, proof, cut-over
}

// TestRequirements holds the page of requirements against the tests that it names.
func TestRequirements(t *testing.T) {
	t.Parallel()
	for _, problem := range checkRequirements(tree(t), requirementRanges) {
		t.Error(problem)
	}
}

var (
	requirementStruck   = regexp.MustCompile(`^struck(?: in part)?: \S`)
	requirementDocument = regexp.MustCompile("\\bdocument: `([\\w./-]+)`")
)

// checkRequirements wants every item of the ranges once, each with a test that exists, a
// document that exists, or a reason why it is struck.
func checkRequirements(files map[string][]byte, ranges []requirementRange) []string {
	page := proofPage{name: requirements}
	for _, r := range ranges {
		for n := 1; n <= r.last; n++ {
			id := fmt.Sprintf("%s-%d", r.prefix, n)
			page.known = append(page.known, id)
			page.required = append(page.required, id)
		}
	}
	page.excuse = func(proof string, tests int) []string {
		var found []string
		documents := requirementDocument.FindAllStringSubmatch(proof, -1)
		for _, m := range documents {
			if _, exists := files[m[1]]; !exists {
				found = append(found, "no document "+m[1])
			}
		}
		if tests == 0 && len(documents) == 0 && !requirementStruck.MatchString(proof) {
			found = append(found, "no test, no document, not struck")
		}
		return found
	}
	return page.check(files)
}

// TestRequirementsRules breaks each rule of the page once.
func TestRequirementsRules(t *testing.T) {
	t.Parallel()
	files := map[string][]byte{
		"relay/a_test.go": []byte("package relay_test\n\nfunc TestA(t *testing.T) { t.Run(\"one way\", f) }\n"),
		"relay/doc.go":    nil,
		requirements: []byte("| item | about | proof |\n| --- | --- | --- |\n" +
			"| X-1 | this | `relay: TestA/one way`; in part document: `relay/doc.go` |\n" +
			"| X-2 | this | document: `relay/none.go` |\n" +
			"| X-3 | this | `relay: TestB`, `relay: TestA/another` |\n" +
			"| X-4 | this | struck: not here |\n" +
			"| X-5 |  | later |\n" +
			"| X-5 | this | struck: |\n" +
			"| X-7 | this | struck: not here |\n"),
	}
	want := []string{
		"X-2: no document relay/none.go",
		"X-3: relay has no test TestB", "X-3: TestA of relay has no subtest another",
		"X-5: does not say what it is about", "X-5: no test, no document, not struck",
		"X-5: no test, no document, not struck",
		"X-7: unknown id",
		"X-5: stands here 2 times, want once", "X-6: stands here 0 times, want once",
	}
	for i := range want {
		want[i] = requirements + ": " + want[i]
	}
	got := checkRequirements(files, []requirementRange{{prefix: "X", last: 6}})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}
