package report

import (
	"io"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// verifiedDatabase is the answer of one database for programs.
type verifiedDatabase struct {
	Database    string                `json:"database"`
	Schema      string                `json:"schema,omitempty"`
	Postgres    int                   `json:"postgres,omitempty"`
	Expected    string                `json:"expected_from,omitempty"`
	Components  []canonical.Component `json:"components,omitempty"`
	Parameters  *parameters           `json:"parameters,omitempty"`
	Matters     bool                  `json:"matters"`
	Differences []differenceJSON      `json:"differences"`
	Error       *errorJSON            `json:"error,omitempty"`
}

type parameters struct {
	Lanes         int     `json:"lanes"`
	Slots         int     `json:"slots"`
	PeriodSeconds float64 `json:"period_seconds"`
	MaxEventBytes int     `json:"max_event_bytes"`
}

type differenceJSON struct {
	Object    string `json:"object"`
	Kind      string `json:"kind"`
	Component string `json:"component,omitempty"`
	Property  string `json:"property"`
	Expected  string `json:"expected"`
	Actual    string `json:"actual"`
	Mend      string `json:"mend"`
	Matters   bool   `json:"matters"`
}

type errorJSON struct {
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

// JSON writes the answers as one document.
func (v *Verified) JSON(w io.Writer) error {
	document := struct {
		Clean     bool               `json:"clean"`
		Databases []verifiedDatabase `json:"databases"`
	}{v.Clean(), []verifiedDatabase{}}
	for _, d := range v.databases {
		document.Databases = append(document.Databases, d.json())
	}
	return output.WriteJSON(w, output.JSON, document)
}

func (d verified) json() verifiedDatabase {
	one := verifiedDatabase{Database: d.name, Differences: []differenceJSON{}}
	if d.err != nil {
		one.Error = &errorJSON{Message: d.err.Error(), Hint: d.hint}
		return one
	}
	p := d.found.Params
	one.Schema, one.Postgres, one.Expected = d.found.Schema, d.found.Postgres, string(d.found.Source)
	one.Components, one.Matters = d.found.Components, d.found.Matters()
	one.Parameters = &parameters{Lanes: p.Lanes, Slots: p.Slots, PeriodSeconds: p.Period.Seconds(), MaxEventBytes: p.MaxEventBytes}
	for _, found := range d.found.Differences {
		one.Differences = append(one.Differences, differenceJSON{
			Object: found.Object.String(), Kind: found.Object.Kind, Component: string(found.Component), Property: found.Property,
			Expected: found.Expected, Actual: found.Actual, Mend: found.Mend, Matters: found.Matters,
		})
	}
	return one
}
