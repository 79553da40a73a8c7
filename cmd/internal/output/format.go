package output

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Format is how a command writes its data.
type Format string

// The formats. A command has those that make sense for it.
const (
	Text  Format = "text"  // for people
	JSON  Format = "json"  // one document
	JSONL Format = "jsonl" // a stream of documents, one a line
	Name  Format = "name"  // ids, paths or names alone

	SARIF  Format = "sarif"  // version 2.1.0, for code scanning
	GitHub Format = "github" // annotations of a GitHub workflow
)

// Flag is the value of -o: one of the formats that a command has. The first is the default.
type Flag struct {
	allowed []Format
	chosen  Format
}

// NewFlag makes the flag of a command.
func NewFlag(allowed ...Format) *Flag { return &Flag{allowed: allowed, chosen: allowed[0]} }

// Format returns the format that was chosen.
func (f *Flag) Format() Format { return f.chosen }

// Allowed returns the formats that the command has.
func (f *Flag) Allowed() []string {
	all := make([]string, len(f.allowed))
	for i, a := range f.allowed {
		all[i] = string(a)
	}
	return all
}

// String implements pflag.Value.
func (f *Flag) String() string { return string(f.chosen) }

// Type implements pflag.Value: it names the value in help.
func (f *Flag) Type() string { return strings.Join(f.Allowed(), "|") }

// Set implements pflag.Value.
func (f *Flag) Set(text string) error {
	for _, a := range f.allowed {
		if text == string(a) {
			f.chosen = a
			return nil
		}
	}
	return fmt.Errorf("the formats are %s", strings.Join(f.Allowed(), ", "))
}

// WriteJSON writes a value as one document: indented, or with Format JSONL on one line.
func WriteJSON(w io.Writer, format Format, value any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if format != JSONL {
		enc.SetIndent("", "  ")
	}
	return enc.Encode(value)
}
