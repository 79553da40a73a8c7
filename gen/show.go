package gen

import (
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-dev/holdfast/gen/internal/tool"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// Text returns a file as it is written for a service: the one of the way up, or with down
// the one of the way back, which only some tools have. Version 0 is the newest.
func Text(c Config, service string, component canonical.Component, version int, down bool) ([]byte, error) {
	i := slices.IndexFunc(c.Services, func(s Service) bool { return s.Name == service })
	if i < 0 {
		return nil, fmt.Errorf("there is no service %q in the configuration", service)
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	s := c.Effective(c.Services[i])
	want, err := newShelf(c).of(s)
	if err != nil {
		return nil, err
	}
	if version == 0 {
		version = canonicalVersion(want, component)
	}
	for _, e := range want {
		if e.ref != (ref{component, version}) {
			continue
		}
		for _, part := range e.files {
			if (part.Part == tool.Down) == down {
				return part.Content, nil
			}
		}
		return nil, errors.New(string(s.Tool) + " has no file of its own for the way back")
	}
	return nil, fmt.Errorf("service %s has no %s version %d", service, component, version)
}

// Expected returns what a service has when it is complete, in the order in which it is
// installed.
func Expected(c Config, s Service) ([]canonical.Rendered, error) {
	s = c.Effective(s)
	return c.planner()(s.Params, s.Components...)
}
