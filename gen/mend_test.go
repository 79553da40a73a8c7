package gen_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/gen/internal/atlassum"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// mend does what the command of a drift would do. So the tests know that it helps.
func mend(t *testing.T, c gen.Config, d gen.Drift) {
	t.Helper()
	for command := range strings.SplitSeq(d.Mend, " && ") {
		words := strings.Fields(command)
		at := func(i int) string { return filepath.Join(c.Root, strings.Trim(words[i], "'")) }
		var err error
		switch {
		case command == "outbox-gen write":
			mustWrite(t, c)
		case command == "outbox-gen go":
			_, err = gen.WriteConstants(t.Context(), c)
		case strings.HasPrefix(command, "outbox-gen show "):
			show(t, c, command)
		case strings.HasPrefix(command, "git mv "):
			err = os.Rename(at(2), at(3))
		case strings.HasPrefix(command, "git rm "):
			err = os.RemoveAll(at(2))
		case strings.HasPrefix(command, "rm "):
			err = os.Remove(at(1))
		case strings.HasPrefix(command, "atlas migrate hash --dir "):
			rehash(t, filepath.Join(c.Root, strings.TrimPrefix(words[4], "file://")))
		case strings.HasPrefix(command, "echo "):
			// Attributes of git change nothing here.
		default:
			t.Fatalf("no command: %q", command)
		}
		if err != nil {
			t.Fatalf("%s: %v", command, err)
		}
	}
}

var showCommand = regexp.MustCompile(`^outbox-gen show (\w+) (\d+) --service (\S+)( --down)? > (\S+)$`)

func show(t *testing.T, c gen.Config, command string) {
	t.Helper()
	m := showCommand.FindStringSubmatch(command)
	if m == nil {
		t.Fatalf("no command: %q", command)
	}
	version, err := strconv.Atoi(m[2])
	if err != nil {
		t.Fatal(err)
	}
	text, err := gen.Text(c, m[3], canonical.Component(m[1]), version, m[4] != "")
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	if err := os.WriteFile(filepath.Join(c.Root, m[5]), text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// rehash does what atlas migrate hash does; e2e/tools compares the two.
func rehash(t *testing.T, dir string) {
	t.Helper()
	var files []atlassum.File
	for name, content := range tree(t, dir) {
		if atlassum.Counts(name) {
			files = append(files, atlassum.File{Name: name, Content: []byte(content)})
		}
	}
	if err := os.WriteFile(filepath.Join(dir, atlassum.FileName), atlassum.Compute(files), 0o644); err != nil {
		t.Fatal(err)
	}
}
