package pods_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"

	"github.com/holdfast-dev/holdfast/e2e/overlay"
)

var (
	// clocked are the rooms whose clock can be set: all that a relay is made of.
	clocked = []string{"cmd/relay", "relay", "outbox", "schema"}

	readsClock  = regexp.MustCompile(`\btime\.(Now|Since|Until)\b`)
	packageLine = regexp.MustCompile(`(?m)^package (\w+)$`)
)

// setClocks has everything that reads the wall clock read one that may be wrong.
func setClocks(tree *overlay.Tree, files map[string]string) error {
	for _, room := range clocked {
		err := fs.WalkDir(os.DirFS(tree.Root), room, func(name string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == "outboxtest"):
				return fs.SkipDir
			case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
				return nil
			}
			return setClock(tree, files, name)
		})
		if err != nil {
			return err
		}
	}
	if _, set := files["relay/planted_clock.go"]; !set {
		return fmt.Errorf("nothing in the relay reads a clock")
	}
	return nil
}

func setClock(tree *overlay.Tree, files map[string]string, name string) error {
	text, ok := files[name]
	if !ok {
		var err error
		if text, err = tree.Read(name); err != nil {
			return err
		}
	}
	wrong := readsClock.ReplaceAllString(text, "wrong$1")
	if wrong == text {
		return nil
	}
	files[name] = wrong + "\nvar _ = time.Nanosecond // the import may have no other use\n"
	files[path.Dir(name)+"/planted_clock.go"] = strings.Replace(clockSource, "{{package}}", packageLine.FindStringSubmatch(text)[1], 1)
	return nil
}
