package catalog

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// Source says where it is known from what is expected.
type Source string

// The sources. Both give the same.
const (
	FromScratch  Source = "scratch"  // a schema that was made in this server for the purpose, and rolled back
	FromSnapshot Source = "snapshot" // a file of this package
)

// Expected is what the canonical schema looks like in the catalog of a server.
type Expected struct {
	Source     Source
	Major      int // version of the server
	Params     canonical.Params
	Components []canonical.Component

	facts facts // with schemaToken in place of the name of the database schema
}

// schemaToken stands for the name of the database schema. A name that needs quotes cannot be
// installed, so it looks the same wherever the server writes it.
const schemaToken = "{{schema}}"

// in returns the facts for the database schema that was read.
func (e *Expected) in(schema string) facts {
	return e.facts.with(strings.NewReplacer(schemaToken, schema).Replace)
}

// objects returns the objects of some kinds.
func (e *Expected) objects(kinds ...string) []Object {
	var found []Object
	for o := range e.facts {
		if slices.Contains(kinds, o.Kind) {
			found = append(found, o)
		}
	}
	return found
}

// bodies returns the source of every function of a plan by its name. The names of our
// functions are not overloaded.
func bodies(plan []canonical.Rendered) (map[string]string, error) {
	found := map[string]string{}
	for _, file := range plan {
		for _, b := range findBodies(file.SQL) {
			if b.function == "" {
				return nil, fmt.Errorf("component %s version %d: a function body follows no CREATE FUNCTION", file.Component, file.Version)
			}
			found[b.function] = file.SQL[b.start:b.end]
		}
	}
	return found, nil
}

var seed = regexp.MustCompile(`(?ms)^INSERT INTO [^ .]+\.([a-z0-9_]+) .*?;$`)

// addSeeds notes with what statements a plan fills its tables. holdfast_schema tells
// what was run, so whoever makes that table anew cannot know what to put in it.
func addSeeds(f facts, plan []canonical.Rendered) {
	for _, file := range plan {
		for _, match := range seed.FindAllStringSubmatch(file.SQL, -1) {
			if table := (Object{Kind: kindTable, Name: match[1]}); match[1] != "holdfast_schema" && f.has(table) {
				f.add(table, propSeed, strings.TrimPrefix(f[table][propSeed]+"\n"+match[0], "\n"))
			}
		}
	}
}
