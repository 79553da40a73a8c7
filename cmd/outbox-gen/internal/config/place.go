package config

import "github.com/goccy/go-yaml/ast"

// position is a place in the file, from 1.
type position struct{ line, column int }

// spot names a value of the configuration, see gen.Problem.
type spot struct {
	service int
	field   string
	item    int
}

// places says where each value stands.
type places map[spot]position

// of returns the place of a value; of what it belongs to when it is not in the file.
func (p places) of(service int, field string, item int) position {
	for _, s := range []spot{{service, field, item}, {service, field, -1}, {service, "", -1}, {-1, "", -1}} {
		if at, known := p[s]; known {
			return at
		}
	}
	return position{1, 1}
}

// positionOf is where a node begins for a person, which for a mapping is its first key.
func positionOf(n ast.Node) position {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		n = m.Values[0].Key
	}
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return position{1, 1}
	}
	at := n.GetToken().Position
	return position{at.Line, at.Column}
}
