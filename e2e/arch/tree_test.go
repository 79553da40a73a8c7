package arch_test

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	maxFileLines = 600
	maxFuncLines = 100
)

// TestTree holds the files of the repository against the house rules.
func TestTree(t *testing.T) {
	t.Parallel()
	files := tree(t)
	found := checkFolders(files)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		found = append(found, checkText(name, files[name])...)
		if strings.HasSuffix(name, ".go") && !inTestdata(name) {
			found = append(found, checkGo(name, files[name])...)
		}
	}
	for _, problem := range found {
		t.Error(problem)
	}
}

// root is the folder of go.mod.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(".")
	if err != nil {
		t.Fatalf("find the root: %v", err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	t.Fatal("find the root: no go.mod above this package")
	return ""
}

// tree reads every text file of the repository, by slash-separated path. It
// reads the work tree and not git's index, so that a mistake shows before it is
// committed and a source archive can be tested too.
func tree(t *testing.T) map[string][]byte {
	t.Helper()
	dir, files := root(t), map[string][]byte{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			switch entry.Name() {
			case ".git", ".demo", "bin", "dist", "node_modules":
				return fs.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() || strings.HasSuffix(name, ".test") || name == ".git" { // .git: of a worktree
			return nil
		}
		src, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the scratch file of another package's test, gone since the folder was read
		}
		if err != nil {
			return err
		}
		if !bytes.ContainsRune(src[:min(len(src), 8000)], 0) {
			files[name] = src
		}
		return nil
	})
	if err != nil {
		t.Fatalf("read the tree: %v", err)
	}
	if len(files["go.mod"]) == 0 {
		t.Fatalf("read the tree: %d files found, and go.mod is not among them", len(files))
	}
	return files
}

func inTestdata(name string) bool {
	return slices.Contains(strings.Split(name, "/"), "testdata")
}

// checkFolders wants a doc.go with a package comment in each folder with Go
// code, a room that covers it, and a name that says what is inside.
func checkFolders(files map[string][]byte) []string {
	var found []string
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		folder := path.Dir(name)
		if !strings.HasSuffix(name, ".go") || inTestdata(name) || seen[folder] {
			continue
		}
		seen[folder] = true
		if _, known := roomOf(folder); !known {
			found = append(found, folder+": no room of rules_test.go covers this folder")
		}
		for _, part := range strings.Split(folder, "/") {
			if slices.Contains([]string{"util", "utils", "common", "helper", "helpers", "manager"}, part) {
				found = append(found, folder+": name it after what it does, not "+part)
			}
		}
		doc, exists := files[folder+"/doc.go"]
		if !exists {
			found = append(found, folder+": no doc.go")
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), folder+"/doc.go", doc, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil || f.Doc == nil {
			found = append(found, folder+"/doc.go: no package comment")
		}
	}
	return found
}

var (
	leftover = regexp.MustCompile(`\b(TODO|FIXME|XXX)\b`)
	// Where files lie on one machine, but not where Homebrew installs on Linux.
	machinePath  = regexp.MustCompile(`(^|[^\w.*/-])/(?:work|farm|root|home/[\w.-]+|Users/[\w.-]+|tmp/bash_jobs)/[\w.*-]`)
	linuxbrew    = regexp.MustCompile(`/home/linuxbrew/`)
	temporary    = regexp.MustCompile("[\"`]/tmp/\\w")
	scriptSkip   = regexp.MustCompile(`(?m)^(\[[^\]]*\]\s*)*skip\b`)
	generatedGo  = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
	skipMethods  = []string{"Skip", "Skipf", "SkipNow"}
	exitCalls    = []string{"os.Exit", "log.Fatal", "log.Fatalf", "log.Fatalln"}
	serverUses   = []string{"net/http.ListenAndServe", "net/http.ListenAndServeTLS", "net/http.Serve", "net/http.ServeTLS", "net/http.Server"}
	mayExitServe = []string{"cmd/...", "e2e/..."}
	mayExit      = []string{"outbox/outboxtest"} // its Main stands in for a test binary's
)

// checkText looks at any file, testdata among them.
func checkText(name string, src []byte) []string {
	var found []string
	for i, line := range bytes.Split(src, []byte("\n")) {
		if machinePath.Match(linuxbrew.ReplaceAll(line, nil)) {
			found = append(found, fmt.Sprintf("%s:%d: path of one machine", name, i+1))
		}
	}
	if (strings.HasSuffix(name, ".txtar") || strings.HasSuffix(name, ".txt")) && inTestdata(name) && scriptSkip.Match(src) {
		found = append(found, name+": script that can skip itself")
	}
	return found
}

// checkGo looks at one Go file.
func checkGo(name string, src []byte) []string {
	if generatedGo.Match(src) {
		return nil
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return []string{err.Error()}
	}
	var found []string
	report := func(at ast.Node, format string, args ...any) {
		found = append(found, fmt.Sprintf("%s:%d: ", name, fset.Position(at.Pos()).Line)+fmt.Sprintf(format, args...))
	}
	if lines := bytes.Count(src, []byte("\n")); lines > maxFileLines {
		report(f, "file of %d lines, %d at most", lines, maxFileLines)
	}
	for _, group := range f.Comments {
		for _, comment := range group.List {
			if word := leftover.FindString(comment.Text); word != "" {
				report(comment, "%s: do it, or file an issue", word)
			}
		}
	}
	imported := importNames(f)
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if lines := fset.Position(n.End()).Line - fset.Position(n.Pos()).Line + 1; lines > maxFuncLines {
				report(n, "function %s of %d lines, %d at most", n.Name.Name, lines, maxFuncLines)
			}
		case *ast.BasicLit:
			if n.Kind == token.STRING && temporary.MatchString(n.Value) {
				report(n, "fixed path for temporary files: use t.TempDir or os.MkdirTemp")
			}
		case *ast.SelectorExpr:
			if problem := checkSelector(path.Dir(name), strings.HasSuffix(name, "_test.go"), imported, n); problem != "" {
				report(n, "%s", problem)
			}
		}
		return true
	})
	return found
}

// checkSelector judges x.Name: a skipped test, an exit or a server where there may be none.
func checkSelector(folder string, test bool, imported map[string]string, n *ast.SelectorExpr) string {
	x, plain := n.X.(*ast.Ident)
	if !plain {
		return ""
	}
	pkg, isPackage := imported[x.Name]
	if !isPackage {
		_, tests := imported["testing"]
		if tests && slices.Contains(skipMethods, n.Sel.Name) {
			return "skipped test: it fails when it lacks something, or it does not exist"
		}
		return ""
	}
	full := pkg + "." + n.Sel.Name
	if test || matchesAny(mayExitServe, folder) {
		return ""
	}
	if slices.Contains(exitCalls, full) && !slices.Contains(mayExit, folder) {
		return full + ": return an error; only commands exit"
	}
	if slices.Contains(serverUses, full) {
		return full + ": return a handler; only commands serve"
	}
	return ""
}

// importNames maps the names by which a file knows its imports to their paths.
func importNames(f *ast.File) map[string]string {
	names := map[string]string{}
	for _, spec := range f.Imports {
		target := strings.Trim(spec.Path.Value, `"`)
		name := path.Base(target)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = target
	}
	return names
}
