package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs the command lines of testdata/script. Besides the commands of testscript they
// have:
//
//	[!] outbox-gen ARGS   runs the command; it must succeed, or with ! fail
//	exits N ARGS          runs the command; it must exit with N
//	mends N               runs the first mending command of a check in a shell, up to N times,
//	                      until the check is clean
//	edit FILE OLD NEW     replaces a text in a file, which must have it; \r and \n are read
//	repository            makes a git repository of all files
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                "testdata/script",
		RequireUniqueNames: true,
		UpdateScripts:      os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			env.Setenv("SOURCE_DATE_EPOCH", "1795946400") // 2026-11-29 10:00 UTC
			env.Setenv("TERM", "dumb")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":      cmdExits,
			"mends":      cmdMends,
			"edit":       cmdEdit,
			"repository": cmdRepository,
		},
	})
}

func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: exits N ARGS")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if code := run(ts, args[1:]); code != want {
		ts.Fatalf("outbox-gen exited with %d, want %d", code, want)
	}
}

func run(ts *testscript.TestScript, args []string) int {
	err := ts.Exec("outbox-gen", args...)
	var exited *exec.ExitError
	if errors.As(err, &exited) {
		return exited.ExitCode()
	}
	ts.Check(err)
	return 0
}

var mendLine = regexp.MustCompile(`(?m)^mend: (.*)$`)

func cmdMends(ts *testscript.TestScript, _ bool, args []string) {
	times, err := strconv.Atoi(args[0])
	ts.Check(err)
	for range times {
		if run(ts, args[1:]) == 0 {
			return
		}
		m := mendLine.FindStringSubmatch(ts.ReadFile("stdout"))
		if m == nil {
			ts.Fatalf("no mending command")
		}
		ts.Check(ts.Exec("sh", "-e", "-c", m[1]))
	}
	if code := run(ts, args[1:]); code != 0 {
		ts.Fatalf("still drift after %d commands", times)
	}
}

func cmdEdit(ts *testscript.TestScript, _ bool, args []string) {
	name := one(ts, args[0])
	escapes := strings.NewReplacer(`\r`, "\r", `\n`, "\n")
	from, to := escapes.Replace(args[1]), escapes.Replace(args[2])
	text := ts.ReadFile(name)
	if !strings.Contains(text, from) {
		ts.Fatalf("%s does not have %q", name, from)
	}
	ts.Check(os.WriteFile(ts.MkAbs(name), []byte(strings.ReplaceAll(text, from, to)), 0o644))
}

// one returns the file that a pattern matches.
func one(ts *testscript.TestScript, pattern string) string {
	found, err := filepath.Glob(ts.MkAbs(pattern))
	ts.Check(err)
	if len(found) != 1 {
		ts.Fatalf("%s matches %d files", pattern, len(found))
	}
	return found[0]
}

func cmdRepository(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Setenv("HOME", ts.MkAbs("."))
	for _, args := range []string{
		"init -q -b main", "config user.name tester", "config user.email tester@example.com", "config core.autocrlf false", "add -A", "commit -q -m start",
	} {
		ts.Check(ts.Exec("git", strings.Fields(args)...))
	}
}
