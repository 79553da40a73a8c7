package config

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// decoder turns the tree of a file into a configuration. It goes over the tree by hand, and
// not by reflection, so that it can go on after a problem and knows where everything stands.
type decoder struct {
	file     string
	places   places
	anchors  map[string]ast.Node
	problems []exit.Problem
}

func (d *decoder) problem(n ast.Node, hint, format string, args ...any) {
	d.at(positionOf(n), hint, format, args...)
}

func (d *decoder) at(p position, hint, format string, args ...any) {
	d.problems = append(d.problems, exit.Problem{
		File: d.file, Line: p.line, Column: p.column, Message: fmt.Sprintf(format, args...), Hint: hint,
	})
}

func (d *decoder) decode(data []byte) gen.Config {
	// Some editors begin a file with a mark that is no part of it.
	file, err := parser.ParseBytes(bytes.TrimPrefix(data, []byte("\ufeff")), 0)
	if err != nil {
		d.syntax(err)
		return gen.Config{}
	}
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType {
			continue
		}
		if body != nil {
			d.problem(doc.Body, "keep the first one", "there is a second document")
			return gen.Config{}
		}
		body = doc.Body
	}
	if body == nil {
		d.at(position{1, 1}, "outbox-gen init proposes one", "the file is empty")
		return gen.Config{}
	}
	d.anchors = map[string]ast.Node{}
	ast.Walk(collector{d.anchors}, body)
	return d.top(body)
}

// collector finds the anchors that aliases refer to.
type collector struct{ anchors map[string]ast.Node }

// Visit implements [ast.Visitor].
func (c collector) Visit(n ast.Node) ast.Visitor {
	if a, ok := n.(*ast.AnchorNode); ok {
		c.anchors[a.Name.String()] = a.Value
	}
	return c
}

func (d *decoder) syntax(err error) {
	var located yaml.Error
	if !errors.As(err, &located) || located.GetToken() == nil || located.GetToken().Position == nil {
		d.at(position{1, 1}, "", "%s", err.Error())
		return
	}
	at := located.GetToken().Position
	d.at(position{at.Line, at.Column}, "correct the YAML there or just before", "%s", strings.ToLower(located.GetMessage()[:1])+located.GetMessage()[1:])
}

func (d *decoder) top(body ast.Node) gen.Config {
	var c gen.Config
	keys := d.mapping(body, "the configuration", "version", "defaults", "services")
	if version, ok := keys["version"]; ok {
		c.Version, _ = d.number(version, "version", "write version: 1")
		d.places[spot{-1, "version", -1}] = positionOf(version)
	}
	if defaults, ok := keys["defaults"]; ok {
		found := d.mapping(defaults, "defaults", append([]string{"tool"}, paramKeys...)...)
		c.Defaults.Tool = gen.Tool(d.text(found["tool"], spot{-1, "defaults.tool", -1}))
		c.Defaults.Params = d.params(found, -1, "defaults.")
	}
	if services, ok := keys["services"]; ok {
		d.places[spot{-1, "services", -1}] = positionOf(services)
		for i, n := range d.sequence(services, "services") {
			c.Services = append(c.Services, d.service(i, n))
		}
	}
	return c
}

func (d *decoder) service(i int, n ast.Node) gen.Service {
	known := append([]string{"name", "dir", "tool", "components", "go"}, paramKeys...)
	d.places[spot{i, "", -1}] = positionOf(d.resolve(n))
	keys := d.mapping(n, "a service", known...)
	s := gen.Service{
		Name:      d.text(keys["name"], spot{i, "name", -1}),
		Dir:       d.text(keys["dir"], spot{i, "dir", -1}),
		Tool:      gen.Tool(d.text(keys["tool"], spot{i, "tool", -1})),
		Constants: d.text(keys["go"], spot{i, "go", -1}),
		Params:    d.params(keys, i, ""),
	}
	if components, ok := keys["components"]; ok {
		d.places[spot{i, "components", -1}] = positionOf(components)
		for k, c := range d.sequence(components, "components") {
			s.Components = append(s.Components, canonical.Component(d.text(c, spot{i, "components", k})))
		}
	}
	return s
}

var paramKeys = []string{"schema", "lanes", "retention", "max_event_bytes"}

func (d *decoder) params(keys map[string]ast.Node, service int, prefix string) canonical.Params {
	at := func(field string) spot { return spot{service, prefix + field, -1} }
	p := canonical.Params{
		Schema:        d.text(keys["schema"], at("schema")),
		Lanes:         d.count(keys["lanes"], "lanes", at("lanes")),
		MaxEventBytes: d.count(keys["max_event_bytes"], "max_event_bytes", at("max_event_bytes")),
	}
	if retention, ok := keys["retention"]; ok {
		found := d.mapping(retention, "retention", "slots", "period")
		p.Slots = d.count(found["slots"], "slots", at("retention.slots"))
		p.Period = d.duration(found["period"], at("retention.period"))
	}
	return p
}

func (d *decoder) duration(n ast.Node, s spot) time.Duration {
	if n == nil {
		return 0
	}
	d.places[s] = positionOf(n)
	text, ok := scalar(d.resolve(n))
	period, err := time.ParseDuration(text)
	if !ok || err != nil || period <= 0 {
		d.problem(n, "write a duration such as 24h or 90m; a week is 168h", "period %s is not a duration", shown(d.resolve(n)))
		return 0
	}
	return period
}
