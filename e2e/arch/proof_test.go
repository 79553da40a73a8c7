package arch_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// proofPage is a page of tables that map ids to what proves them. A row is
//
//	| id | what it is about | proof |
//
// and a proof names tests, as `folder: TestName` or `folder: TestName/name of a subtest`, or says
// why there is none, in a way that the page allows.
type proofPage struct {
	name string
	// known are the ids that the page may have; those of required must be there, once.
	known, required []string
	// excuse judges a proof without a test, and what else it says beside tests. "" is fine.
	excuse func(proof string, tests int) []string
}

var (
	proofRow  = regexp.MustCompile(`(?m)^\| ([A-Z][\w-]*-\w+) \| (.*) \| (.*) \|$`)
	proofTest = regexp.MustCompile("`([\\w./-]+): (\\w+)(?:/([^`]+))?`")
)

// check wants every required id once, each with a test that exists or a good excuse.
func (p proofPage) check(files map[string][]byte) []string {
	var found []string
	report := func(id, format string, args ...any) {
		found = append(found, fmt.Sprintf("%s: %s: ", p.name, id)+fmt.Sprintf(format, args...))
	}
	times := map[string]int{}
	tests := map[string]map[string][]string{} // of a folder, once it was asked for
	for _, m := range proofRow.FindAllStringSubmatch(string(files[p.name]), -1) {
		id, about, proof := m[1], m[2], m[3]
		times[id]++
		if strings.TrimSpace(about) == "" {
			report(id, "does not say what it is about")
		}
		if !slices.Contains(p.known, id) {
			report(id, "unknown id")
		}
		named := proofTest.FindAllStringSubmatch(proof, -1)
		for _, test := range named {
			folder, name, sub := test[1], test[2], test[3]
			if tests[folder] == nil {
				tests[folder] = testsIn(files, folder)
			}
			texts, exists := tests[folder][name]
			switch {
			case !exists:
				report(id, "%s has no test %s", folder, name)
			case sub != "" && !slices.Contains(texts, sub):
				report(id, "%s of %s has no subtest %s", name, folder, sub)
			}
		}
		for _, problem := range p.excuse(proof, len(named)) {
			report(id, "%s", problem)
		}
	}
	for _, id := range p.known {
		if n := times[id]; n > 1 || n == 0 && slices.Contains(p.required, id) {
			report(id, "stands here %d times, want once", n)
		}
	}
	return found
}

// testsIn lists the tests of a folder, whatever their build tags, each with the texts of its
// source, among which are the names of its subtests.
func testsIn(files map[string][]byte, folder string) map[string][]string {
	names := map[string][]string{}
	for name, src := range files {
		if path.Dir(name) != folder || !strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
		if err != nil {
			continue // TestTree says so
		}
		for _, d := range f.Decls {
			fn, isFunc := d.(*ast.FuncDecl)
			if isFunc && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") && fn.Name.Name != "TestMain" {
				names[fn.Name.Name] = textsIn(fn)
			}
		}
	}
	return names
}

// textsIn lists the string literals of a node.
func textsIn(n ast.Node) []string {
	var texts []string
	ast.Inspect(n, func(n ast.Node) bool {
		if lit, isLit := n.(*ast.BasicLit); isLit && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				texts = append(texts, text)
			}
		}
		return true
	})
	return texts
}
