package gen

import "github.com/holdfast-dev/holdfast/schema/canonical"

// Action is what happens to a file.
type Action string

// The actions. No migration is ever updated: only checksum and constants files are.
const (
	Create Action = "create"
	Update Action = "update"
)

// Change is one file that is written.
type Change struct {
	Service   string
	Path      string // relative to the root of the configuration
	Action    Action
	Component canonical.Component // "" for what is no component's
	Version   int                 // 0 for what is no component's
	Before    []byte              // nil for a new file
	After     []byte

	folder *folder // of the file; nil for one that is in no migrations folder
	name   string  // within it
}

// Report says what was written, or would be.
type Report struct {
	Services int // that were looked at
	Kept     int // files of ours that were there already
	Changes  []Change
}
