package arch_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const fieldCases = "docs/field-cases.md"

// fieldCaseIDs are the ids that the page must have. An id that was given out stays.
const fieldCaseIDs = `
	O-A1 O-A2 O-A3 O-A5 O-A6 O-A7 O-A9 O-A10 O-A11 O-A13 O-A14 O-A15 O-A17 O-A18 O-B1 O-B3 O-B4 O-B5 O-B7 O-B8 O-B9 O-B11 O-B12 O-B13
	O-B15 O-B16 O-B17 O-B19 O-C1 O-C2 O-C4 O-C5 O-C6 O-C8 O-C9 O-C10 O-D2 O-D3 O-D4 O-D6 O-D7 O-D8 O-D10 O-D11 O-D12 O-D14 O-D15
	O-D16 O-D18 O-D19 O-D20 O-D22 O-D23 O-D24 O-D26 O-D27 O-E1 O-E3 O-E4 O-E5 O-E7 O-E8 O-E9 O-E11 O-E12 O-E13 O-E15 O-E16 O-E17
	O-E19 O-F1 O-F2 O-F4 O-F5 O-F6 O-F8 O-F9 O-F10 O-F12 O-F13 O-F14 O-G2 O-G3 O-G4 O-G6 O-G7 O-G8 O-G10 O-G11 O-G12 O-H1 O-H2 O-H3
	O-H5 O-H6 O-I1 O-I3 O-I4 O-I5 O-I7 O-I8 O-I9 O-J2 O-J3 O-J4 O-J6 O-J7 O-K1 O-K3 O-K4 O-K5 H-I01 H-I02 H-I03 H-I05 H-I06 H-I07
	H-I09 H-I10 H-I11 H-I13 H-I14 H-I15 H-I17 H-I18 H-I19 H-I21 H-I22 H-I23 H-I25 H-I26 H-I27 H-I29 H-I30 H-I31 H-I33 H-I34 H-I35
	H-I37 H-I38 H-I39 H-I41 H-I42 H-I43 H-I45 H-I46 H-I47 H-I49 H-I50 H-I51 H-I53 H-I54 H-I55 H-I57 H-I58 H-I59 H-I61 H-I62 H-I63
	H-I65 H-I66 H-I67 H-I69 H-I70 H-I71 H-I73 H-I74 H-I75 H-I77 H-I78 H-I79 H-I81 H-I82 H-I83 H-I85 H-I86 H-I87 H-I89 H-I90 H-I91
	H-I93 H-I94 H-I95 H-I97 H-I98 H-I99 H-I101 H-I102 H-I103 H-I105 H-I106 H-I107 H-I109 H-I110 H-I111 H-I113 H-I114 H-I115 H-I117
	H-I118 H-I119 R-1 R-2 R-3 R-5 R-6 R-7 R-9 R-10 R-11 R-13 R-14 R-15 R-17 R-18 R-19 R-21 R-22 R-23 R-25 R-26 R-27 R-29 R-30 R-31
	R-33 R-34 R-35 R-37 R-38 R-39 R-41 R-42 R-43 R-45 R-46 R-47 R-49 R-50 R-51 R-53 R-54 R-55 R-57 R-58 R-59 R-61 R-62 R-63 R-65 R-66
	R-67 R-69 R-70 R-71 R-73 R-74 R-75 R-77 R-78 R-79 R-81 R-82 R-83 R-85 R-86 R-87
`

// TestFieldCases holds the page of field cases against the tests that it names.
func TestFieldCases(t *testing.T) {
	t.Parallel()
	for _, problem := range checkFieldCases(tree(t), strings.Fields(fieldCaseIDs)) {
		t.Error(problem)
	}
}

var (
	fieldStruck = regexp.MustCompile(`^struck(?: in part)?: \S`)
	fieldIssue  = regexp.MustCompile(`\bopen: issue \d+ \([^()]+\)`)
	fieldOpen   = regexp.MustCompile(`\bopen\b`)
)

// checkFieldCases wants every id once, each with a test that exists, a reason why it is struck,
// or an issue.
func checkFieldCases(files map[string][]byte, ids []string) []string {
	page := proofPage{name: fieldCases, known: ids, required: ids, excuse: func(by string, tests int) []string {
		var found []string
		issues := fieldIssue.FindAllString(by, -1)
		if len(issues) != len(fieldOpen.FindAllString(fieldIssue.ReplaceAllString(by, "open"), -1)) {
			found = append(found, "what is open names its issue and what is missing: open: issue N (what)")
		}
		if tests == 0 && len(issues) == 0 && !fieldStruck.MatchString(by) {
			found = append(found, "no test, not struck, not open")
		}
		return found
	}}
	return page.check(files)
}

// TestFieldCasesRules breaks each rule of the page once.
func TestFieldCasesRules(t *testing.T) {
	t.Parallel()
	files := map[string][]byte{
		"relay/a_test.go": []byte("//go:build tagged\n\npackage relay_test\n\nfunc TestA(t *testing.T) { t.Run(\"one way\", f) }\n\n" +
			"func (x y) TestMethod() {}\n\nfunc helper() {}\n\nfunc TestMain(m *testing.M) {}\n"),
		"relay/a.go":            []byte("package relay\n\nfunc TestNone() {}\n"),
		"relay/check/b_test.go": []byte("package check\n\nfunc TestB(t *testing.T) {}\n"),
		fieldCases: []byte("| id | kind of fault | protected by |\n| --- | --- | --- |\n" +
			"| X-1 | fault | `relay: TestA/one way`, `relay/check: TestB` |\n" +
			"| X-2 | fault | struck: not here |\n" +
			"| X-3 | fault | `relay: TestA` in part; open: issue 4 (more) |\n" +
			"| X-4 | fault | `relay: TestB`, `relay: TestMethod`, `relay: helper`, `relay: TestNone`, `relay: TestMain` |\n" +
			"| X-5 | fault | later |\n" +
			"| X-6 | fault | open: issue 4 |\n" +
			"| X-7 |  | struck: |\n" +
			"| X-2 | fault | struck: again |\n" +
			"| X-9 | fault | open: issue 5 (this) |\n" +
			"| X-10 | fault | `relay: TestA/another way` |\n"),
	}
	want := []string{
		"X-4: relay has no test TestB", "X-4: relay has no test TestMethod", "X-4: relay has no test helper",
		"X-4: relay has no test TestNone", "X-4: relay has no test TestMain",
		"X-5: no test, not struck, not open",
		"X-6: what is open names its issue and what is missing: open: issue N (what)", "X-6: no test, not struck, not open",
		"X-7: does not say what it is about", "X-7: no test, not struck, not open",
		"X-9: unknown id",
		"X-10: TestA of relay has no subtest another way",
		"X-2: stands here 2 times, want once", "X-8: stands here 0 times, want once",
	}
	for i := range want {
		want[i] = fieldCases + ": " + want[i]
	}
	got := checkFieldCases(files, strings.Fields("X-1 X-2 X-3 X-4 X-5 X-6 X-7 X-8 X-10"))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}
