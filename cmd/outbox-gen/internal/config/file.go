package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/suggest"
	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// FileName is where the configuration is when nothing else is said.
const FileName = "outbox-gen.yaml"

const maxBytes = 1 << 20 // of a configuration; the largest fleet needs a tenth

// File is a configuration that was read.
type File struct {
	Path   string // as it was given
	Config gen.Config

	places places
}

// Load reads a configuration, finds the folders of its patterns, and validates it. The
// root of the configuration is the folder that the file is in. Errors are [*exit.Error].
func Load(path string) (*File, error) {
	data, err := read(path)
	if err != nil {
		return nil, err
	}
	return parse(path, data)
}

func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, exit.Errorf(exit.Usage, "configuration %s does not exist", path).
			WithHint("go to the folder that has it, name it with --config, or make one: outbox-gen init")
	case err != nil:
		return nil, exit.Errorf(exit.Usage, "read configuration: %w", err)
	case !info.Mode().IsRegular():
		return nil, exit.Errorf(exit.Usage, "configuration %s is not a file", path).WithHint("name the file, such as %s", filepath.Join(path, FileName))
	case info.Size() > maxBytes:
		return nil, exit.Errorf(exit.Usage, "configuration %s has %d bytes, more than %d", path, info.Size(), maxBytes)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, exit.Errorf(exit.Usage, "read configuration: %w", err)
	}
	return data, nil
}

func parse(path string, data []byte) (*File, error) {
	f := &File{Path: path, places: places{}}
	d := decoder{file: path, places: f.places}
	f.Config = d.decode(data)
	f.Config.Root = filepath.Dir(path)
	if len(d.problems) == 0 {
		d.expand(&f.Config)
	}
	// What could not be read would be reported again as missing.
	if len(d.problems) == 0 {
		var invalid *gen.ConfigError
		if errors.As(f.Config.Validate(), &invalid) {
			d.problems = f.locate(invalid)
		}
	}
	if len(d.problems) > 0 {
		return nil, summary(path, d.problems)
	}
	return f, nil
}

func summary(path string, problems []exit.Problem) error {
	slices.SortStableFunc(problems, func(a, b exit.Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	what := "problems"
	if len(problems) == 1 {
		what = "problem"
	}
	return &exit.Error{Code: exit.Usage, Err: fmt.Errorf("configuration %s has %d %s", path, len(problems), what), Problems: problems}
}

// Explain gives an error of package gen the places in the file that it is about, and
// hints; other errors stay what they are.
func (f *File) Explain(err error) error {
	var invalid *gen.ConfigError
	if errors.As(err, &invalid) {
		return summary(f.Path, f.locate(invalid))
	}
	var hinted interface{ Hint() string }
	if errors.As(err, &hinted) {
		return (&exit.Error{Code: exit.Usage, Err: err}).WithHint("%s", hinted.Hint())
	}
	return err
}

func (f *File) locate(invalid *gen.ConfigError) []exit.Problem {
	var all []exit.Problem
	for _, p := range invalid.Problems {
		at := f.places.of(p.Service, p.Field, p.Item)
		if near := f.meant(p); near != "" {
			p.Hint = "did you mean " + near + "?"
		}
		all = append(all, exit.Problem{File: f.Path, Line: at.line, Column: at.column, Message: p.Message, Hint: p.Hint})
	}
	return all
}

// meant is the tool or the component that somebody perhaps wanted to write.
func (f *File) meant(p gen.Problem) string {
	var word string
	var known []string
	switch {
	case p.Field == "defaults.tool":
		word, known = string(f.Config.Defaults.Tool), names(gen.Tools())
	case p.Field == "tool":
		word, known = string(f.Config.Services[p.Service].Tool), names(gen.Tools())
	case p.Field == "components" && p.Item >= 0:
		word, known = string(f.Config.Services[p.Service].Components[p.Item]), names(canonical.Components())
	}
	if word == "" || contains(known, word) {
		return ""
	}
	return suggest.Nearest(word, known)
}

func names[T ~string](all []T) []string {
	texts := make([]string, len(all))
	for i, one := range all {
		texts[i] = string(one)
	}
	return texts
}

// Service returns the service of that name.
func (f *File) Service(name string) (gen.Service, bool) {
	for _, s := range f.Config.Services {
		if s.Name == name {
			return s, true
		}
	}
	return gen.Service{}, false
}

// ServiceNames returns the names of all services.
func (f *File) ServiceNames() []string {
	var names []string
	for _, s := range f.Config.Services {
		names = append(names, s.Name)
	}
	return names
}
