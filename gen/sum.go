package gen

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/holdfast-dev/holdfast/gen/internal/atlassum"
)

// SumError is returned by [Write] for a checksum file that does not fit its folder. Writing
// a new one would approve of changes that nobody has looked at.
type SumError struct {
	Path string
	Dir  string
}

func (e *SumError) Error() string {
	return fmt.Sprintf("%s does not fit the files beside it", e.Path)
}

// Hint says what a person can do.
func (e *SumError) Hint() string {
	return "look at what was changed, then: " + hashCommand(e.Dir)
}

func hashCommand(dir string) string { return "atlas migrate hash --dir " + quote("file://"+dir) }

// planSum plans the checksum file for the folder with the new files in it.
func (f *folder) planSum(want []expected, added []Change) ([]Change, error) {
	if !f.tool.HasSum {
		return nil, nil
	}
	files, err := f.sumFiles()
	if err != nil {
		return nil, err
	}
	before, err := f.sumContent()
	if err != nil {
		return nil, err
	}
	all := files
	for _, change := range added {
		all = append(all, atlassum.File{Name: change.name, Content: change.After})
	}
	after := atlassum.Compute(all)
	if bytes.Equal(before, after) {
		return nil, nil
	}
	if before != nil && !f.mayRenew(before, all, want, added) {
		return nil, &SumError{Path: f.path(atlassum.FileName), Dir: f.service.Dir}
	}
	change := Change{Service: f.service.Name, Path: f.path(atlassum.FileName), Action: Update, Before: before, After: after, folder: f, name: atlassum.FileName}
	if before == nil {
		change.Action = Create
	}
	return []Change{change}, nil
}

// sumFiles are the files that the checksum covers, as they are now.
func (f *folder) sumFiles() ([]atlassum.File, error) {
	var files []atlassum.File
	for i, one := range f.files {
		if !atlassum.Counts(one.name) || !one.regular {
			continue
		}
		content, err := f.read(i)
		if err != nil {
			return nil, err
		}
		files = append(files, atlassum.File{Name: one.name, Content: content})
	}
	return files, nil
}

// sumContent is the checksum file as it is; nil when there is none.
func (f *folder) sumContent() ([]byte, error) {
	i := f.find(atlassum.FileName)
	if i < 0 {
		return nil, nil
	}
	if !f.files[i].regular {
		return nil, fmt.Errorf("%s is not a regular file", f.path(atlassum.FileName))
	}
	return f.read(i)
}

// mayRenew reports whether the checksum file is right for the files that it lists, and every
// other file is one that is being added, or is ours, byte for byte. The latter is so after a
// write that was killed before it came to the checksum file.
func (f *folder) mayRenew(before []byte, all []atlassum.File, want []expected, added []Change) bool {
	listed := map[string]bool{}
	for _, name := range atlassum.Listed(before) {
		listed[name] = true
	}
	isNew := func(name string) bool {
		return slices.ContainsFunc(added, func(c Change) bool { return c.name == name })
	}
	var covered []atlassum.File
	for _, one := range all {
		if listed[one.Name] {
			covered = append(covered, one)
		} else if !isNew(one.Name) && !f.isExpected(one, want) {
			return false
		}
	}
	return bytes.Equal(before, atlassum.Compute(covered))
}

func (f *folder) isExpected(one atlassum.File, want []expected) bool {
	name, ok := f.tool.Parse(one.Name)
	if !ok {
		return false
	}
	r := parseRef(name.Description)
	for _, e := range want {
		for _, part := range e.files {
			if e.ref == r && part.Part == name.Part {
				return bytes.Equal(one.Content, part.Content)
			}
		}
	}
	return false
}
