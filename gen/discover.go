package gen

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/gen/internal/atlassum"
	"github.com/holdfast-dev/holdfast/gen/internal/tool"
)

// Found is a folder of migrations in a repository.
type Found struct {
	Dir        string // with slashes, relative to the root
	Tool       Tool   // "" for a folder that is empty, or that no tool is recognised in
	Migrations int
	Name       string // a name for the service, unique among what was found
}

// Discovery is what [Discover] saw.
type Discovery struct {
	Folders    []Found
	Unreadable []string // folders that it could not look into
}

// Discover looks for folders of migrations and the tools that run them. Hidden folders,
// symbolic links and the folders of other people's code are left out.
func Discover(root string) (Discovery, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return Discovery{}, fmt.Errorf("look for migrations: %w", err)
	}
	var d Discovery
	err = fs.WalkDir(dir.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			d.Unreadable = append(d.Unreadable, name)
			return fs.SkipDir
		}
		if !entry.IsDir() {
			return nil
		}
		if name != "." && isForeign(entry.Name()) {
			return fs.SkipDir
		}
		entries, err := fs.ReadDir(dir.FS(), name)
		if err != nil {
			d.Unreadable = append(d.Unreadable, name)
			return fs.SkipDir
		}
		if found, ok := recognise(dir.FS(), name, entries); ok {
			d.Folders = append(d.Folders, found)
		}
		return nil
	})
	if err = errors.Join(err, dir.Close()); err != nil {
		return Discovery{}, fmt.Errorf("look for migrations: %w", err)
	}
	nameFolders(d.Folders)
	return d, nil
}

func isForeign(name string) bool {
	return strings.HasPrefix(name, ".") ||
		slices.Contains([]string{"node_modules", "vendor", "third_party", "testdata", "dist", "build", "target"}, name)
}

// recognise tells the tool by what only it has: file names first, then marks in the files.
func recognise(files fs.FS, dir string, entries []fs.DirEntry) (Found, bool) {
	found := Found{Dir: dir}
	for _, t := range tool.All() {
		n := 0
		for _, e := range entries {
			if _, ok := t.Parse(e.Name()); ok && e.Type().IsRegular() && strings.HasSuffix(e.Name(), ".sql") {
				n++
			}
		}
		// dbmate reads names that others don't, so a count by itself proves nothing.
		if n == 0 || !isTool(t, files, dir, entries) {
			continue
		}
		found.Tool, found.Migrations = Tool(t.Name), n
		return found, true
	}
	base := path.Base(dir)
	return found, base == "migrations" && len(entries) == 0
}

func isTool(t tool.Tool, files fs.FS, dir string, entries []fs.DirEntry) bool {
	has := func(name string) bool {
		return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name })
	}
	switch Tool(t.Name) {
	case Atlas:
		return has(atlassum.FileName)
	case Flyway, GolangMigrate:
		return true // nobody else names files like that
	case Goose:
		return marked(files, dir, entries, "-- +goose")
	case DBMate:
		return marked(files, dir, entries, "-- migrate:up")
	case Tern:
		return has("tern.conf") || marked(files, dir, entries, "---- create above / drop below ----")
	default:
		return strings.Contains(path.Base(dir), "migrat")
	}
}

const markLimit = 64 << 10 // of a file, in which a mark is looked for

// marked looks for a mark in the SQL files of a folder.
func marked(files fs.FS, dir string, entries []fs.DirEntry, mark string) bool {
	for _, e := range entries {
		if !e.Type().IsRegular() || path.Ext(e.Name()) != ".sql" {
			continue
		}
		f, err := files.Open(path.Join(dir, e.Name()))
		if err != nil {
			continue
		}
		head, err := io.ReadAll(io.LimitReader(f, markLimit))
		if err = errors.Join(err, f.Close()); err == nil && bytes.Contains(head, []byte(mark)) {
			return true
		}
	}
	return false
}

var generic = []string{
	".", "services", "service", "apps", "app", "cmd", "internal", "pkg", "src", "main", "resources", "db", "database",
	"sql", "migrations", "migration", "migrate", "schema", "postgres", "postgresql", "store", "storage", "data",
}

// nameFolders names each folder after the last part of its path that says anything.
func nameFolders(folders []Found) {
	slices.SortFunc(folders, func(a, b Found) int { return cmp.Compare(a.Dir, b.Dir) })
	seen := map[string]int{}
	for i := range folders {
		name := "service"
		for _, part := range strings.Split(folders[i].Dir, "/") {
			if clean := strings.ReplaceAll(tool.Describe(part), "_", "-"); clean != "" && !slices.Contains(generic, part) {
				name = clean
			}
		}
		seen[name]++
		if n := seen[name]; n > 1 {
			name = fmt.Sprintf("%s-%d", name, n)
		}
		folders[i].Name = name
	}
}
