package config

import (
	"fmt"
	"math"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/holdfast-dev/holdfast/cmd/internal/suggest"
)

const maxAliases = 16 // that lead to one value; more are a circle

// resolve follows anchors, aliases and tags to the value.
func (d *decoder) resolve(n ast.Node) ast.Node {
	for range maxAliases {
		switch inner := n.(type) {
		case *ast.AnchorNode:
			n = inner.Value
		case *ast.TagNode:
			n = inner.Value
		case *ast.AliasNode:
			target, known := d.anchors[inner.Value.String()]
			if !known {
				return n
			}
			n = target
		default:
			return n
		}
	}
	return n
}

// mapping returns the values of a mapping by key, and reports keys that are unknown.
func (d *decoder) mapping(n ast.Node, what string, known ...string) map[string]ast.Node {
	found := map[string]ast.Node{}
	m, ok := d.resolve(n).(*ast.MappingNode)
	if !ok {
		d.problem(n, "write key: value pairs; the keys are "+strings.Join(known, ", "), "%s is %s, not a mapping", what, shown(d.resolve(n)))
		return found
	}
	for _, pair := range m.Values {
		key, isText := scalar(pair.Key)
		if !isText || !contains(known, key) {
			hint := "the keys are " + strings.Join(known, ", ")
			if near := suggest.Nearest(key, known); near != "" {
				hint = "did you mean " + near + "?"
			}
			d.problem(pair.Key, hint, "unknown key %s in %s", pair.Key.String(), what)
			continue
		}
		if d.resolve(pair.Value).Type() == ast.NullType {
			d.problem(pair.Key, "give it a value, or leave it out for the default", "%s has no value", key)
			continue
		}
		found[key] = pair.Value
	}
	return found
}

func (d *decoder) sequence(n ast.Node, what string) []ast.Node {
	s, ok := d.resolve(n).(*ast.SequenceNode)
	if !ok {
		d.problem(n, "write a list, such as [a, b], or one line with a hyphen for each", "%s is %s, not a list", what, shown(d.resolve(n)))
		return nil
	}
	return s.Values
}

// text returns a text, and notes where it stands; "" for what is not there.
func (d *decoder) text(n ast.Node, s spot) string {
	if n == nil {
		return ""
	}
	d.places[s] = positionOf(n)
	text, ok := scalar(d.resolve(n))
	if !ok {
		d.problem(n, "write a text; what looks like a number or true needs quotes", "%s is %s, not a text", name(s), shown(d.resolve(n)))
	} else if text == "" {
		d.problem(n, "give it a value, or leave it out", "%s is empty", name(s))
	}
	return text
}

// count returns a number above zero; 0 for what is not there.
func (d *decoder) count(n ast.Node, what string, s spot) int {
	if n == nil {
		return 0
	}
	d.places[s] = positionOf(n)
	v, ok := d.number(n, what, "write a whole number, or leave it out for the default")
	if ok && v < 1 {
		d.problem(n, "leave it out for the default", "%s is %d, and must be above zero", what, v)
	}
	return v
}

func (d *decoder) number(n ast.Node, what, hint string) (int, bool) {
	if i, ok := d.resolve(n).(*ast.IntegerNode); ok {
		switch v := i.Value.(type) {
		case uint64:
			if v <= math.MaxInt32 {
				return int(v), true
			}
		case int64:
			if v >= math.MinInt32 && v <= math.MaxInt32 {
				return int(v), true
			}
		}
	}
	d.problem(n, hint, "%s is %s, not a number that is allowed", what, shown(d.resolve(n)))
	return 0, false
}

// scalar returns the text of a text node.
func scalar(n ast.Node) (string, bool) {
	switch v := n.(type) {
	case *ast.StringNode:
		return v.Value, true
	case *ast.LiteralNode:
		return v.Value.Value, true
	default:
		return "", false
	}
}

// shown is a value as a message can hold it.
func shown(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.NullNode:
		return "nothing"
	case *ast.AliasNode:
		return "an alias of nothing: " + n.String()
	}
	text := strings.TrimSpace(n.String())
	if len(text) > 60 {
		text = text[:60] + "..."
	}
	return fmt.Sprintf("%q", strings.Trim(text, `"'`))
}

func name(s spot) string {
	if s.field == "components" {
		return "a component"
	}
	return s.field
}

func contains(known []string, key string) bool {
	for _, k := range known {
		if k == key {
			return true
		}
	}
	return false
}
