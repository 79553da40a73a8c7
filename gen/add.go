package gen

import (
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
}

// PlanMigration says what [AddMigration] would do.
func PlanMigration(c Config, m Migration) (Report, error) {
	r, err := openRepository(c)
	if err != nil {
		return Report{}, err
	}
	report, err := r.planMigration(m)
	return report, errors.Join(err, r.close())
}

// AddMigration writes the file or files of a migration behind all others of the service, as
// its tool wants them, with the promises of [Write].
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
