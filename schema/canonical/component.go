package canonical

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

//go:embed outbox/*.sql hold/*.sql relay/*.sql consumer/*.sql saga/*.sql
var source embed.FS

// Component names a part of the schema that a service can have.
type Component string

// The components. Each needs the ones that [Component.Needs] names.
const (
	Outbox   Component = "outbox"   // the log of events and the functions that stage them
	Hold     Component = "hold"     // generations, receipts, release and drop
	Relay    Component = "relay"    // cursors, leases, retries, dead letters
	Consumer Component = "consumer" // facts, inbox, quarantine, dead letters of a consumer
	Saga     Component = "saga"     // operations of a coordinator: claims, leases, results
)

// Components returns all components in the order in which they install.
func Components() []Component { return []Component{Outbox, Hold, Relay, Consumer, Saga} }

// Needs returns the components that must be installed before c.
func (c Component) Needs() []Component {
	if c == Outbox || c == Consumer || c == Saga {
		return nil
	}
	return []Component{Outbox}
}

// ParseComponent returns the component of that name. The error lists the names.
func ParseComponent(name string) (Component, error) {
	if slices.Contains(Components(), Component(name)) {
		return Component(name), nil
	}
	return "", fmt.Errorf("unknown component %q: the components are %v", name, Components())
}

// File is one version of one component: SQL with parameters.
type File struct {
	Component Component
	Version   int    // counts from 1, without gaps
	Name      string // what the version is about, such as "outbox"

	text string
}

// Files returns the versions of a component, oldest first.
func Files(c Component) ([]File, error) {
	entries, err := fs.ReadDir(source, string(c))
	if err != nil {
		return nil, fmt.Errorf("read component %s: %w", c, err)
	}
	files := make([]File, 0, len(entries))
	for i, e := range entries {
		number, name, ok := strings.Cut(strings.TrimSuffix(e.Name(), ".sql"), "_")
		version, err := strconv.Atoi(number)
		if !ok || err != nil || version != i+1 {
			return nil, fmt.Errorf("read component %s: file %s does not follow NNNN_name.sql without gaps", c, e.Name())
		}
		text, err := source.ReadFile(path.Join(string(c), e.Name()))
		if err != nil {
			return nil, fmt.Errorf("read component %s: %w", c, err)
		}
		files = append(files, File{Component: c, Version: version, Name: name, text: string(text)})
	}
	return files, nil
}

// Version returns the newest version of a component.
func Version(c Component) int {
	files, err := Files(c)
	if err != nil || len(files) == 0 {
		return 0
	}
	return files[len(files)-1].Version
}
