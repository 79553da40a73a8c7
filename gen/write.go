package gen

import (
	"context"
	"errors"
	"fmt"
	"path"
)

// Write renders the files that services lack, and keeps atlas.sum valid. It never edits or
// renames a migration that exists, whatever is in it, which is for [Check] to judge.
//
// Everything is read and rendered before anything is written; the new files are written
// under other names first and renamed last; and what was renamed is taken back when a
// later step fails. A process that is killed while it renames leaves whole files, of which
// the first ones can run without the others; the next Write adds the rest.
//
// It returns a [*ConfigError] for what is wrong with the configuration or its folders, and
// a [*SumError] for an atlas.sum that does not fit; nothing is changed then. Two
// processes must not write to the same folders at the same time.
func Write(ctx context.Context, c Config) (Report, error) {
	r, err := openRepository(c)
	if err != nil {
		return Report{}, err
	}
	report, err := r.planWrite()
	if err == nil {
		err = r.apply(ctx, report.Changes)
	}
	if err = errors.Join(err, r.close()); err != nil {
		return Report{}, fmt.Errorf("write migrations: %w", err)
	}
	return report, nil
}

// apply makes all changes or none. After ctx is done nothing new begins, but what is being
// renamed is renamed to the end.
func (r *repository) apply(ctx context.Context, changes []Change) error {
	var s staging
	for _, change := range changes {
		err := ctx.Err()
		if err == nil && change.folder == nil {
			err = r.root.MkdirAll(path.Dir(change.Path), 0o755)
		}
		if err == nil {
			err = s.stage(r.place(change))
		}
		if err != nil {
			return errors.Join(err, s.discard())
		}
	}
	return s.commit()
}

// place says where a change goes, in the folder that was opened.
func (r *repository) place(c Change) target {
	if c.folder == nil {
		return target{root: r.root, name: c.Path, change: c}
	}
	return target{root: c.folder.root, name: c.name, change: c}
}

// WriteConstants writes the constants file of every service that has one, where it differs.
// It replaces only files that it wrote itself, with the promises of [Write].
func WriteConstants(ctx context.Context, c Config) (Report, error) {
	r, err := openRepository(c)
	if err != nil {
		return Report{}, err
	}
	report, err := r.planConstants()
	if err == nil {
		err = r.apply(ctx, report.Changes)
	}
	if err = errors.Join(err, r.close()); err != nil {
		return Report{}, fmt.Errorf("write constants: %w", err)
	}
	return report, nil
}
