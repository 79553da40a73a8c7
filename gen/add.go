package gen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-dev/holdfast/gen/internal/tool"
)

// Migration is one that belongs to a service and not to a component: it may be edited, and
// [Check] does not compare it. Moving an older outbox over is such a one.
type Migration struct {
	Service string
	// Name of the file, without number and ending; words become lower case with underscores.
	Name string
	// Header is comment lines for the people who read the file; each begins with "--".
	Header string
	// SQL that runs in one transaction.
	SQL string
	// Refusal is SQL that raises an error, for the way back.
	Refusal string
	// Once is the part of SQL that may stand in one migration of the service only, on one line; and Again
	// the part of a later one after which it may be written again. Defaults to no limit.
	Once, Again string
}

// ExistsError is returned when the service has the migration already, perhaps under another name.
type ExistsError struct {
	Service, Path string // the path is relative to the root of the configuration
}

func (e *ExistsError) Error() string {
	return fmt.Sprintf("migration %s is there already and does the same", e.Path)
}

// Hint says what a person can do.
func (e *ExistsError) Hint() string {
	return "run it; or remove it, if no database ran it, to have it written again"
}

// PlanMigration says what [AddMigration] would do. An error for a person to act on: [*ExistsError].
func PlanMigration(c Config, m Migration) (Report, error) {
	r, err := openRepository(c)
	if err != nil {
		return Report{}, err
	}
	report, err := r.planMigration(m)
	return report, errors.Join(err, r.close())
}

// AddMigration writes the file or files of a migration behind all others of the service, as
// its tool wants them, with the promises of [Write]. An error for a person to act on: [*ExistsError].
func AddMigration(ctx context.Context, c Config, m Migration) (Report, error) {
	r, err := openRepository(c)
	if err != nil {
		return Report{}, err
	}
	report, err := r.planMigration(m)
	if err == nil {
		err = r.apply(ctx, report.Changes)
	}
	if err = errors.Join(err, r.close()); err != nil {
		return Report{}, fmt.Errorf("add migration %s: %w", m.Name, err)
	}
	return report, nil
}

func (r *repository) planMigration(m Migration) (Report, error) {
	i := slices.IndexFunc(r.folders, func(f *folder) bool { return f.service.Name == m.Service })
	if i < 0 {
		return Report{}, fmt.Errorf("there is no service %q in the configuration", m.Service)
	}
	f, name := r.folders[i], tool.Describe(m.Name)
	if name == "" || likeOurs.MatchString(name) {
		return Report{}, fmt.Errorf("a migration can't have the name %q", m.Name)
	}
	if err := f.only(m); err != nil {
		return Report{}, err
	}
	number, err := newPlaces(f, r.config.now()).next("")
	if err != nil {
		return Report{}, err
	}
	files, err := f.tool.Render(tool.Migration{Header: m.Header, SQL: m.SQL, Refusal: m.Refusal})
	if err != nil {
		return Report{}, err
	}
	report := Report{Services: 1}
	for _, part := range files {
		change, err := f.create(f.tool.FileName(number, name, part.Part), part)
		if err != nil {
			return Report{}, err
		}
		report.Changes = append(report.Changes, change)
	}
	want, err := r.shelf.of(f.service)
	if err != nil {
		return Report{}, err
	}
	sums, err := f.planSum(want, report.Changes)
	if err != nil {
		return Report{}, err
	}
	report.Changes = append(report.Changes, sums...)
	return report, nil
}

// only refuses a migration that stands in the folder already. The text tells it, because names are changed.
func (f *folder) only(m Migration) error {
	if m.Once == "" {
		return nil
	}
	found := ""
	for _, i := range f.sorted() {
		content, err := f.read(i)
		if err != nil {
			return err
		}
		if bytes.Contains(content, []byte(m.Once)) {
			found = f.files[i].name
		}
		if m.Again != "" && bytes.Contains(content, []byte(m.Again)) {
			found = ""
		}
	}
	if found != "" {
		return &ExistsError{Service: m.Service, Path: f.path(found)}
	}
	return nil
}
