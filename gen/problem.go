package gen

import (
	"fmt"
	"strings"
)

// Problem is one thing that is wrong with a [Config] or with a folder that it names.
type Problem struct {
	// Service is the index in [Config.Services]; -1 for what is no service's.
	Service int
	// Field names what is wrong as the configuration file does: "name", "dir", "tool",
	// "components", "go", "schema", "lanes", "retention.slots", "retention.period",
	// "max_event_bytes", "services" or "version". Those of [Defaults] begin with "defaults.".
	Field string
	// Item is the index in a list, such as that of a component; -1 when all of it is meant.
	Item    int
	Message string
	Hint    string // what a person can do
}

// ConfigError is every problem that was found.
type ConfigError struct{ Problems []Problem }

func (e *ConfigError) Error() string {
	texts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		texts[i] = p.Message
	}
	return "configuration: " + strings.Join(texts, "; ")
}

// problems collects.
type problems struct{ list []Problem }

func (p *problems) add(service int, field, hint, format string, args ...any) {
	p.list = append(p.list, Problem{Service: service, Field: field, Item: -1, Message: fmt.Sprintf(format, args...), Hint: hint})
}

func (p *problems) addItem(service int, field string, item int, hint, format string, args ...any) {
	p.add(service, field, hint, format, args...)
	p.list[len(p.list)-1].Item = item
}

func (p *problems) error() error {
	if len(p.list) == 0 {
		return nil
	}
	return &ConfigError{Problems: p.list}
}
