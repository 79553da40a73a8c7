package canonical

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"text/template"
	"time"
)

// Rendered is a file with its parameters filled in.
type Rendered struct {
	File
	// SQL is what a migration tool runs: the objects of the version, then the
	// statement that records the version in holdfast_schema.
	SQL string
	// Checksum is the SHA-256, in hex, of the SQL without that last statement.
	// Databases with the same checksum were made by the same bytes.
	Checksum string
}

// Render fills in the parameters.
func (f File) Render(p Params) (Rendered, error) {
	p = p.WithDefaults()
	if err := p.Validate(); err != nil {
		return Rendered{}, fmt.Errorf("render %s version %d: %w", f.Component, f.Version, err)
	}
	t, err := template.New(f.Name).Option("missingkey=error").Parse(f.text)
	if err != nil {
		return Rendered{}, fmt.Errorf("render %s version %d: %w", f.Component, f.Version, err)
	}
	var body strings.Builder
	if err := t.Execute(&body, values(p)); err != nil {
		return Rendered{}, fmt.Errorf("render %s version %d: %w", f.Component, f.Version, err)
	}
	sum := sha256.Sum256([]byte(body.String()))
	checksum := hex.EncodeToString(sum[:])
	return Rendered{File: f, SQL: body.String() + f.record(p, checksum), Checksum: checksum}, nil
}

// record is the statement that makes a version known to the database that has it.
// Version 1 inserts, so that installing twice fails as a whole.
func (f File) record(p Params, checksum string) string {
	if f.Version == 1 {
		return fmt.Sprintf("\nINSERT INTO %s.holdfast_schema (component, version, checksum, parameters)\nVALUES ('%s', %d, '%s', '%s');\n",
			p.Schema, f.Component, f.Version, checksum, p.JSON())
	}
	return fmt.Sprintf("\nUPDATE %s.holdfast_schema\n   SET version = %d, checksum = '%s', parameters = '%s', installed_at = clock_timestamp()\n WHERE component = '%s' AND version = %d;\n",
		p.Schema, f.Version, checksum, p.JSON(), f.Component, f.Version-1)
}

// values are what the SQL files may refer to.
func values(p Params) map[string]any {
	numbers := make([]int, p.Slots)
	for i := range numbers {
		numbers[i] = i
	}
	return map[string]any{
		"Schema":        p.Schema,
		"Lanes":         p.Lanes,
		"Slots":         p.Slots,
		"SlotNumbers":   numbers,
		"MaxEventBytes": p.MaxEventBytes,
		// The slot that the clock is in. UTC, because the epoch is.
		"SlotExpr": fmt.Sprintf("(floor(extract(epoch from clock_timestamp()) / %d)::bigint %% %d)::smallint",
			int(p.Period/time.Second), p.Slots),
		// How long published events stay, unless something else is asked for.
		"Keep": fmt.Sprintf("interval '%d seconds'", int(p.Keep()/time.Second)),
	}
}

// Plan returns the rendered files of the components and of what they need, in an
// order in which they install. A component is never listed twice.
func Plan(p Params, components ...Component) ([]Rendered, error) {
	wanted := map[Component]bool{}
	for _, c := range components {
		if _, err := ParseComponent(string(c)); err != nil {
			return nil, err
		}
		wanted[c] = true
		for _, need := range c.Needs() {
			wanted[need] = true
		}
	}
	var plan []Rendered
	for _, c := range Components() {
		if !wanted[c] {
			continue
		}
		files, err := Files(c)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			r, err := f.Render(p)
			if err != nil {
				return nil, err
			}
			plan = append(plan, r)
		}
	}
	return plan, nil
}
