package gen

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"syscall"

	"github.com/holdfast-dev/holdfast/gen/internal/tool"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// folder is the migrations folder of a service, as it was when it was opened.
type folder struct {
	service Service // with defaults
	index   int     // in Config.Services
	tool    tool.Tool
	repo    *os.Root // which links may not lead out of
	root    *os.Root // the folder itself
	info    fs.FileInfo
	files   []file // by name
}

// file is an entry of the folder.
type file struct {
	name      string
	regular   bool      // itself, or what a symbolic link leads to inside the root
	link      bool      // a symbolic link
	migration bool      // the tool would run it
	parsed    tool.Name // if it is a migration
	ours      ref       // if its name is exactly one of ours
	claims    bool      // its name looks like one of ours
	content   []byte    // of a regular file, once read
}

// isOurs reports whether the name is exactly one that the generator gives.
func (f file) isOurs() bool { return f.ours.version > 0 }

var (
	ourName  = regexp.MustCompile(`^holdfast_([a-z]+)_v([1-9][0-9]{0,5})$`)
	likeOurs = regexp.MustCompile(`(?i)holdfast_[a-z]+_v[0-9]`)
)

// openFolder lists the folder. Errors are those of the system, with the path relative to
// the root.
func openFolder(root *os.Root, index int, service Service) (*folder, error) {
	t, ok := tool.Find(string(service.Tool))
	if !ok {
		return nil, fmt.Errorf("unknown tool %q", service.Tool)
	}
	info, err := root.Stat(service.Dir)
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: service.Dir, Err: syscall.ENOTDIR}
	}
	if err != nil {
		return nil, err
	}
	dir, err := root.OpenRoot(service.Dir)
	if err != nil {
		return nil, err
	}
	f := &folder{service: service, index: index, tool: t, repo: root, root: dir, info: info}
	if err := f.list(); err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, nil
}

func (f *folder) close() error { return f.root.Close() }

func (f *folder) list() error {
	entries, err := fs.ReadDir(f.root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		one := file{name: e.Name(), claims: likeOurs.MatchString(e.Name()), regular: e.Type().IsRegular(), link: e.Type()&fs.ModeSymlink != 0}
		one.parsed, one.migration = f.tool.Parse(one.name)
		if one.link && (one.migration || one.claims) {
			info, err := f.repo.Stat(f.path(one.name))
			if err != nil {
				return err
			}
			one.regular = info.Mode().IsRegular()
		}
		one.migration = one.migration && one.regular
		if one.migration {
			one.ours = parseRef(one.parsed.Description)
		}
		f.files = append(f.files, one)
	}
	return nil
}

// parseRef reads the description in the name of one of our files; the zero ref for another.
func parseRef(description string) ref {
	m := ourName.FindStringSubmatch(description)
	if m == nil {
		return ref{}
	}
	version, err := strconv.Atoi(m[2])
	if err != nil {
		return ref{}
	}
	return ref{canonical.Component(m[1]), version}
}

// read returns the content of a file of the folder, and keeps it.
func (f *folder) read(i int) ([]byte, error) {
	if f.files[i].content == nil {
		root, name := f.root, f.files[i].name
		if f.files[i].link {
			root, name = f.repo, f.path(name) // it may lead to another folder of the repository
		}
		content, err := root.ReadFile(name)
		if err != nil {
			return nil, err
		}
		f.files[i].content = append([]byte{}, content...)
	}
	return f.files[i].content, nil
}

// find returns the index of a file; -1 when there is none of that name.
func (f *folder) find(name string) int {
	return slices.IndexFunc(f.files, func(one file) bool { return one.name == name })
}

// sorted returns the indexes of the migrations in the order in which the tool runs them.
func (f *folder) sorted() []int {
	var order []int
	for i, one := range f.files {
		if one.migration {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(f.tool.Compare(f.files[a].parsed.Number, f.files[b].parsed.Number), cmp.Compare(f.files[a].name, f.files[b].name))
	})
	return order
}

// present maps each part of each version to the first file that has it.
func (f *folder) present() map[ref]map[tool.Part]int {
	found := map[ref]map[tool.Part]int{}
	for _, i := range f.sorted() {
		one := f.files[i]
		if !one.isOurs() {
			continue
		}
		if found[one.ours] == nil {
			found[one.ours] = map[tool.Part]int{}
		}
		if _, twice := found[one.ours][one.parsed.Part]; !twice {
			found[one.ours][one.parsed.Part] = i
		}
	}
	return found
}

// path is the place of a file of the folder, relative to the root of the configuration.
func (f *folder) path(name string) string {
	if f.service.Dir == "." {
		return name
	}
	return f.service.Dir + "/" + name
}
