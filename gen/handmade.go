package gen

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/gen/internal/statement"
)

// handmade finds statements in the service's own migrations that define objects of ours,
// in files that run after the one that makes them. An earlier file can't have: what it
// made was moved out of the way, or our file would have failed.
func (c *comparison) handmade() error {
	objects := map[statement.Target]bool{} // made so far, without position
	for _, i := range c.sorted() {
		one := c.folder.files[i]
		if one.isOurs() {
			for _, e := range c.want {
				if e.ref == one.ours {
					for _, object := range e.objects {
						objects[statement.Target{Schema: object.Schema, Name: object.Name}] = true
					}
				}
			}
			continue
		}
		if len(objects) == 0 || one.claims || !strings.HasSuffix(one.name, ".sql") {
			continue
		}
		content, err := c.read(i)
		if err != nil {
			return err
		}
		c.scan(one.name, content, objects)
	}
	return nil
}

// scan reports the first statement of a file that defines one of the objects.
func (c *comparison) scan(name string, content []byte, objects map[statement.Target]bool) {
	// Few files name the schema at all, and cutting them up is what takes time.
	if !bytes.Contains(bytes.ToLower(content), []byte(c.service.Params.Schema)) {
		return
	}
	for _, t := range statement.Targets(string(content)) {
		if !objects[statement.Target{Schema: t.Schema, Name: t.Name}] {
			continue
		}
		line := 1 + bytes.Count(content[:t.Pos], []byte("\n"))
		c.add(Drift{
			File: c.path(name), Kind: KindHandmade, Line: line, Actual: content,
			Detail: fmt.Sprintf("line %d defines %s.%s, which belongs to the canonical schema", line, t.Schema, t.Name),
			Mend:   fmt.Sprintf("remove the statement in line %d of %s; what it is for belongs in the canonical schema or in a table of the service", line, c.path(name)),
		})
		return
	}
}
