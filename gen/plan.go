package gen

import (
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-dev/holdfast/gen/internal/tool"
)

// Plan says what [Write] would do, and does nothing. Errors are those of [Write].
func Plan(c Config) (Report, error) {
	r, err := openRepository(c)
	if err != nil {
		return Report{}, err
	}
	report, err := r.planWrite()
	return report, errors.Join(err, r.close())
}

func (r *repository) planWrite() (Report, error) {
	report := Report{Services: len(r.folders)}
	for _, f := range r.folders {
		want, err := r.shelf.of(f.service)
		if err != nil {
			return Report{}, err
		}
		missing, err := f.missing(want, r.config)
		if err != nil {
			return Report{}, fmt.Errorf("service %s: %w", f.service.Name, err)
		}
		report.Kept += count(want) - len(missing)
		report.Changes = append(report.Changes, missing...)
		sums, err := f.planSum(want, missing)
		if err != nil {
			return Report{}, fmt.Errorf("service %s: %w", f.service.Name, err)
		}
		report.Changes = append(report.Changes, sums...)
	}
	return report, nil
}

func count(want []expected) int {
	n := 0
	for _, e := range want {
		n += len(e.files)
	}
	return n
}

// missing plans the files that are not there, in an order in which they can run.
func (f *folder) missing(want []expected, c Config) ([]Change, error) {
	present, places := f.present(), newPlaces(f, c.now())
	var changes []Change
	for _, e := range want {
		for _, part := range e.files {
			if _, there := present[e.ref][part.Part]; there {
				continue
			}
			number, err := places.of(e.ref)
			if err != nil {
				return nil, err
			}
			change, err := f.create(f.tool.FileName(number, e.String(), part.Part), part)
			if err != nil {
				return nil, err
			}
			change.Component, change.Version = e.component, e.version
			changes = append(changes, change)
		}
	}
	return changes, nil
}

func (f *folder) create(name string, part tool.File) (Change, error) {
	if slices.ContainsFunc(f.files, func(one file) bool { return one.name == name }) {
		return Change{}, fmt.Errorf("%s is in the way: it is no file that %s would run", f.path(name), f.tool.Name)
	}
	return Change{
		Service: f.service.Name, Path: f.path(name), Action: Create, After: part.Content, folder: f, name: name,
	}, nil
}
