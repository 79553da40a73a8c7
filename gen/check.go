package gen

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-dev/holdfast/gen/internal/atlassum"
	"github.com/holdfast-dev/holdfast/gen/internal/tool"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// Check compares every service with what [Write] would have written, byte for byte, and
// returns what is different, by service; nothing when all is well. It writes nothing.
//
// It returns a [*ConfigError] for what is wrong with the configuration or its folders, and
// no drift beside an error.
func Check(c Config) ([]Drift, error) {
	r, err := openRepository(c)
	if err != nil {
		return nil, err
	}
	var all []Drift
	for _, f := range r.folders {
		var found []Drift
		if found, err = r.checkService(f); err != nil {
			err = fmt.Errorf("check service %s: %w", f.service.Name, err)
			break
		}
		all = append(all, found...)
	}
	if err = errors.Join(err, r.close()); err != nil {
		return nil, err
	}
	return all, nil
}

func (r *repository) checkService(f *folder) ([]Drift, error) {
	want, err := r.shelf.of(f.service)
	if err != nil {
		return nil, err
	}
	c := comparison{repository: r, folder: f, want: want, present: f.present()}
	for _, step := range []func() error{c.files, c.strangers, c.order, c.handmade, c.sum, c.goConstants} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return c.found, nil
}

// comparison is the work on one service.
type comparison struct {
	*repository
	*folder
	want    []expected
	present map[ref]map[tool.Part]int
	found   []Drift
}

func (c *comparison) add(d Drift) {
	d.Service = c.service.Name
	c.found = append(c.found, d)
}

// files compares what must be there with what is.
func (c *comparison) files() error {
	absent, err := c.folder.missing(c.want, c.config)
	if err != nil {
		absent = nil // no number is free; the file is missing all the same
	}
	for _, e := range c.want {
		for _, part := range e.files {
			i, there := c.present[e.ref][part.Part]
			if !there {
				c.absent(e, part, absent)
				continue
			}
			content, err := c.read(i)
			if err != nil {
				return err
			}
			if one := c.folder.files[i]; one.link {
				c.add(Drift{File: c.path(one.name), Kind: KindEdited, Detail: "is a symbolic link", Expected: part.Content, Actual: content,
					Mend: "rm " + quote(c.path(one.name)) + " && " + c.restore(e, part, one.name)})
			} else if !bytes.Equal(content, part.Content) {
				c.add(c.differs(e, part, one.name, content))
			}
		}
	}
	return nil
}

// absent reports a file that is not there. A component that has some version is behind;
// without any it is missing.
func (c *comparison) absent(e expected, part tool.File, planned []Change) {
	d := Drift{Kind: KindMissing, Detail: fmt.Sprintf("component %s version %d is not there", e.component, e.version), Expected: part.Content, Mend: "outbox-gen write"}
	for r := range c.present {
		if r.component == e.component && r.version < e.version && !c.hasLater(e.ref) {
			d.Kind = KindOlder
			d.Detail = fmt.Sprintf("component %s is at an older version than %d", e.component, e.version)
		}
	}
	name := c.tool.FileName("N", e.String(), part.Part)
	for _, change := range planned {
		if change.Component == e.component && change.Version == e.version && bytes.Equal(change.After, part.Content) {
			name = change.name
		}
	}
	d.File = c.path(name)
	c.add(d)
}

func (c *comparison) hasLater(r ref) bool {
	for other := range c.present {
		if other.component == r.component && other.version > r.version {
			return true
		}
	}
	return false
}

// differs says in which way a file has other bytes.
func (c *comparison) differs(e expected, part tool.File, name string, content []byte) Drift {
	d := Drift{File: c.path(name), Expected: part.Content, Actual: content, Mend: c.restore(e, part, name)}
	d.Line = firstDifference(part.Content, content)
	parameters, checksum := headerLine(content, "parameters"), headerLine(content, "checksum")
	switch {
	case bytes.Equal(bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n")), part.Content):
		d.Kind, d.Detail = KindLineEndings, "lines end in CRLF"
		d.Mend += " && echo '*holdfast_*.sql -text' >> .gitattributes"
	case parameters != "" && parameters != c.service.Params.JSON():
		d.Kind, d.Detail = KindParameters, fmt.Sprintf("was made with parameters %s, the configuration says %s", parameters, c.service.Params.JSON())
	case checksum != "" && checksum != e.rendered.Checksum:
		d.Kind, d.Detail = KindOlder, fmt.Sprintf("was made from another text of %s version %d: checksum %.12s, this outbox-gen has %.12s", e.component, e.version, checksum, e.rendered.Checksum)
	default:
		d.Kind, d.Detail = KindEdited, fmt.Sprintf("differs from line %d on", d.Line)
	}
	return d
}

// restore is the command that writes the file as it should be, under the name that it has.
func (c *comparison) restore(e expected, part tool.File, name string) string {
	command := fmt.Sprintf("outbox-gen show %s %d --service %s", e.component, e.version, c.service.Name)
	if part.Part == tool.Down {
		command += " --down"
	}
	return command + " > " + quote(c.path(name))
}

// firstDifference is the number of the first line that differs.
func firstDifference(a, b []byte) int {
	line := 1
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			break
		}
		if a[i] == '\n' {
			line++
		}
	}
	return line
}

// strangers are files under our names that the service should not have.
func (c *comparison) strangers() error {
	for i, one := range c.folder.files {
		if !one.claims || c.isWanted(i) {
			continue
		}
		d := Drift{File: c.path(one.name), Kind: KindExtra, Mend: "git rm " + quote(c.path(one.name))}
		if one.regular {
			content, err := c.read(i)
			if err != nil {
				return err
			}
			d.Actual = content
		}
		d.Detail, d.Mend = c.explainStranger(i, d.Mend)
		c.add(d)
	}
	return nil
}

func (c *comparison) isWanted(i int) bool {
	one := c.folder.files[i]
	first, there := c.present[one.ours][one.parsed.Part]
	return one.isOurs() && there && first == i && slices.ContainsFunc(c.want, func(e expected) bool { return e.ref == one.ours })
}

func (c *comparison) explainStranger(i int, remove string) (detail, mend string) {
	one := c.folder.files[i]
	newest := canonicalVersion(c.want, one.ours.component)
	switch {
	case !one.isOurs():
		return fmt.Sprintf("has a name that is kept for generated files, and is none that outbox-gen wrote for %s", c.tool.Name), remove
	case c.present[one.ours][one.parsed.Part] != i:
		return fmt.Sprintf("is %s once more: %s is the first", one.ours, c.folder.files[c.present[one.ours][one.parsed.Part]].name), remove
	case newest > 0:
		return fmt.Sprintf("is version %d of component %s, of which this outbox-gen knows %d", one.ours.version, one.ours.component, newest),
			"use the outbox-gen that wrote it, or " + remove
	case slices.Contains(canonical.Components(), one.ours.component):
		return fmt.Sprintf("belongs to component %s, which the configuration does not give this service", one.ours.component),
			fmt.Sprintf("add %s to the components of %s, or, if it never ran anywhere, %s", one.ours.component, c.service.Name, remove)
	default:
		return fmt.Sprintf("belongs to component %s, which this outbox-gen does not know", one.ours.component), "use the outbox-gen that wrote it, or " + remove
	}
}

// canonicalVersion is the newest wanted version of a component; 0 when it is not wanted.
func canonicalVersion(want []expected, component canonical.Component) int {
	newest := 0
	for _, e := range want {
		if e.component == component {
			newest = max(newest, e.version)
		}
	}
	return newest
}

// sum wants atlas.sum to be what Atlas would compute.
func (c *comparison) sum() error {
	if !c.tool.HasSum {
		return nil
	}
	files, err := c.sumFiles()
	if err != nil {
		return err
	}
	actual, err := c.sumContent()
	if err != nil {
		return err
	}
	want := atlassum.Compute(files)
	if bytes.Equal(actual, want) || actual == nil && len(files) == 0 {
		return nil
	}
	d := Drift{File: c.path(atlassum.FileName), Kind: KindSum, Detail: "does not fit the files beside it", Expected: want, Actual: actual, Mend: hashCommand(c.service.Dir)}
	if actual == nil {
		d.Detail, d.Mend = "is not there", "outbox-gen write"
	} else {
		d.Line = firstDifference(want, actual)
	}
	c.add(d)
	return nil
}

// goConstants compares the constants file, if the service has one.
func (c *comparison) goConstants() error {
	if c.service.Constants == "" {
		return nil
	}
	change, err := c.constants(c.folder)
	if err != nil {
		return err
	}
	if bytes.Equal(change.Before, change.After) {
		return nil
	}
	d := Drift{File: change.Path, Kind: KindConstants, Detail: "is not there", Expected: change.After, Actual: change.Before, Mend: "outbox-gen go"}
	if change.Before != nil {
		d.Line = firstDifference(change.After, change.Before)
		d.Detail = fmt.Sprintf("differs from line %d on", d.Line)
	}
	c.add(d)
	return nil
}
