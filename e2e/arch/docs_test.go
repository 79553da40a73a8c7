package arch_test

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDocs holds what the documentation says against what is there.
func TestDocs(t *testing.T) {
	t.Parallel()
	files := tree(t)
	var found []string
	for _, check := range []func(map[string][]byte) []string{
		checkLinks, checkTargets, checkExamples, checkRecords, checkReasons, checkChangelog,
	} {
		found = append(found, check(files)...)
	}
	for _, problem := range found {
		t.Error(problem)
	}
}

var (
	fence      = regexp.MustCompile("(?ms)^[ \t]*```([\\w-]*)[^\n]*\n(.*?)^[ \t]*```[ \t]*$")
	link       = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading    = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`)
	notInSlug  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	scheme     = regexp.MustCompile(`^[a-z]+:`)
	makeInSpan = regexp.MustCompile("`make ([a-z][a-z0-9-]*)")
	makeInCode = regexp.MustCompile(`(?m)^[ \t]*(?:\$ )?make ([a-z][a-z0-9-]*)`)
	makeTarget = regexp.MustCompile(`(?m)^([a-z][a-z0-9-]*):`)
	recordName = regexp.MustCompile(`^\d{4}-[a-z0-9-]+\.md$`)
	recordHead = regexp.MustCompile(`^# (\d{4})\. (.+)\n\n- Date: \d{4}-\d{2}-\d{2}\n- Status: (proposed|accepted|superseded by .+)\n`)
	required   = regexp.MustCompile(`(?m)^(?:require )?\t?([\w.-]+\.[\w./-]+) v\S+$`)
	toolLine   = regexp.MustCompile(`(?m)^(?:tool )?\t?([\w.-]+\.[\w./-]+)$`)
)

const recordsDir = "docs/decisions"

// markdown lists the documents. What lies in testdata is nobody's documentation.
func markdown(files map[string][]byte) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(files)), func(name string) bool {
		return !strings.HasSuffix(name, ".md") || inTestdata(name)
	})
}

// checkLinks follows every relative link, to the heading if it names one.
func checkLinks(files map[string][]byte) []string {
	var found []string
	for _, name := range markdown(files) {
		for _, m := range link.FindAllSubmatch(fence.ReplaceAll(files[name], nil), -1) {
			target := string(m[1])
			if scheme.MatchString(target) {
				continue
			}
			file, anchor, _ := strings.Cut(target, "#")
			to := name
			if file != "" {
				to = path.Join(path.Dir(name), file)
			}
			if !exists(files, to) {
				found = append(found, fmt.Sprintf("%s: link to %s, which does not exist", name, target))
			} else if anchor != "" && strings.HasSuffix(to, ".md") && !slices.Contains(slugs(files[to]), anchor) {
				found = append(found, fmt.Sprintf("%s: link to %s, which has no such heading", name, target))
			}
		}
	}
	return found
}

// exists knows files, and folders by the files in them.
func exists(files map[string][]byte, name string) bool {
	if _, file := files[name]; file || name == "." {
		return true
	}
	for other := range files {
		if strings.HasPrefix(other, name+"/") {
			return true
		}
	}
	return false
}

// slugs are the anchors that a forge makes of a document's headings.
func slugs(src []byte) []string {
	var all []string
	for _, m := range heading.FindAllSubmatch(fence.ReplaceAll(src, nil), -1) {
		text := notInSlug.ReplaceAllString(strings.ToLower(string(m[1])), "")
		all = append(all, strings.ReplaceAll(text, " ", "-"))
	}
	return all
}

// checkTargets wants every `make x` in a document to be a target.
func checkTargets(files map[string][]byte) []string {
	targets := map[string]bool{}
	for _, m := range makeTarget.FindAllSubmatch(files["Makefile"], -1) {
		targets[string(m[1])] = true
	}
	var found []string
	for _, name := range markdown(files) {
		src := files[name]
		said := makeInSpan.FindAllSubmatch(src, -1)
		for _, block := range fence.FindAllSubmatch(src, -1) {
			if lang := string(block[1]); lang != "go" {
				said = append(said, makeInCode.FindAllSubmatch(block[2], -1)...)
			}
		}
		for _, m := range said {
			if target := string(m[1]); !targets[target] {
				found = append(found, fmt.Sprintf("%s: make %s, which is no target of the Makefile", name, target))
			}
		}
	}
	return found
}

// checkExamples wants every block of Go in a document to stand, line by line and
// whatever its indentation, in a Go file: then the compiler has seen it.
func checkExamples(files map[string][]byte) []string {
	var code []string
	for name, src := range files {
		if strings.HasSuffix(name, ".go") && !inTestdata(name) {
			code = append(code, unindent(src))
		}
	}
	var found []string
	for _, name := range markdown(files) {
		for _, block := range fence.FindAllSubmatch(files[name], -1) {
			example := unindent(block[2])
			compiled := slices.ContainsFunc(code, func(src string) bool { return strings.Contains(src, example) })
			if string(block[1]) == "go" && !compiled {
				first, _, _ := strings.Cut(strings.TrimSpace(example), "\n")
				found = append(found, fmt.Sprintf("%s: the Go example that begins %q stands in no Go file; copy it from an Example function", name, first))
			}
		}
	}
	return found
}

func unindent(src []byte) string {
	var b strings.Builder
	b.WriteByte('\n')
	for line := range strings.Lines(strings.TrimSpace(string(src))) {
		b.WriteString(strings.TrimSpace(line) + "\n")
	}
	return b.String()
}

// checkRecords wants each decision record under a number of its own, dated, with a
// status, and in the index by its own title. Numbers are given out before records are
// written, so there may be gaps.
func checkRecords(files map[string][]byte) []string {
	var found []string
	last := ""
	for _, name := range markdown(files) {
		dir, base := path.Split(name)
		if dir != recordsDir+"/" || base == "README.md" || base == "template.md" {
			continue
		}
		head := recordHead.FindSubmatch(files[name])
		if head == nil || !recordName.MatchString(base) {
			found = append(found, name+": a record is NNNN-name.md and begins with its title, date and status, as the template does")
			continue
		}
		number := base[:4]
		if string(head[1]) != number || number == last {
			found = append(found, name+": the number is that of another record, or not the one in the title")
		}
		last = number
		status, _, _ := strings.Cut(string(head[3]), " ")
		line := regexp.MustCompile(`(?m)^\| \[` + number + `\]\(` + regexp.QuoteMeta(base) + `\) \| ` +
			regexp.QuoteMeta(string(head[2])) + ` \| ` + status)
		if !line.Match(files[recordsDir+"/README.md"]) {
			found = append(found, name+": not in the index with this title and status")
		}
	}
	return found
}

// checkReasons wants every module that go.mod requires directly, and every
// tool, to be named in a decision record.
func checkReasons(files map[string][]byte) []string {
	var records strings.Builder
	for name, src := range files {
		if path.Dir(name) == recordsDir {
			records.Write(src)
		}
	}
	var found []string
	for _, m := range required.FindAllSubmatch(files["go.mod"], -1) {
		if !strings.Contains(records.String(), "`"+string(m[1])+"`") {
			found = append(found, fmt.Sprintf("go.mod: %s has no reason in %s", m[1], recordsDir))
		}
	}
	for _, m := range toolLine.FindAllSubmatch(files["go.mod"], -1) {
		// The module of a tool is a prefix of its path.
		named := false
		for p := string(m[1]); p != "."; p = path.Dir(p) {
			named = named || strings.Contains(records.String(), "`"+p+"`")
		}
		if !named {
			found = append(found, fmt.Sprintf("go.mod: tool %s has no reason in %s", m[1], recordsDir))
		}
	}
	return found
}

func checkChangelog(files map[string][]byte) []string {
	if !strings.Contains(string(files["CHANGELOG.md"]), "\n## [Unreleased]\n") {
		return []string{"CHANGELOG.md: no section [Unreleased]"}
	}
	return nil
}
