package effectfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/goccy/go-yaml"

	"github.com/holdfast-dev/holdfast/consumers/effects"
)

// maxBytes is more than anybody writes.
const maxBytes = 1 << 20

// Read returns the descriptions of a file of 1 MiB at most, one for each YAML document. Errors name the file, and the place in
// it where they can.
func Read(name string) ([]effects.Table, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(file, maxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxBytes {
		return nil, fmt.Errorf("%s: is larger than %d bytes", name, maxBytes)
	}
	tables, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return tables, nil
}

func decode(data []byte) ([]effects.Table, error) {
	d := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict())
	var tables []effects.Table
	for {
		var t effects.Table
		err := d.Decode(&t)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, errors.New(yaml.FormatError(err, false, false))
		}
		t = t.WithDefaults()
		if err := t.Validate(); err != nil {
			return nil, err
		}
		tables = append(tables, t)
	}
	if len(tables) == 0 {
		return nil, errors.New("describes no table")
	}
	return tables, nil
}
