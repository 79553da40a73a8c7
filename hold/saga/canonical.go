package saga

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// maxDepth is how deep a request may be nested.
const maxDepth = 1000

// Canonical returns the bytes that stand for a request: those of its JSON, with every value tagged
// with its type and its length. The order of fields and white space do not matter; all else does:
//
//   - a number is its text as it was sent: 1.50 is not 1.5. Keep amounts as strings or json.Number,
//     or pass the document that came as a json.RawMessage;
//   - a field that is null is not one that is left out. A Go type that shows no difference between
//     the two, such as a pointer with omitempty, gives it away: use a json.RawMessage for it;
//   - a name that stands twice in an object is refused, and so is text that is not UTF-8.
func Canonical(request any) ([]byte, error) {
	text, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	// The encoder writes what is not UTF-8 as this escape, and the character itself as it is.
	if bytes.Contains(text, []byte(`\ufffd`)) {
		return nil, errors.New("encode request: text is not UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	form, err := appendValue(nil, decoder, 0)
	if err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("read request: more than one document")
	}
	return form, nil
}

func appendValue(form []byte, decoder *json.Decoder, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nested deeper than %d", maxDepth)
	}
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch v := token.(type) {
	case nil:
		return appendPart(form, 'z', nil), nil
	case bool:
		if v {
			return appendPart(form, 't', nil), nil
		}
		return appendPart(form, 'f', nil), nil
	case json.Number:
		return appendPart(form, 'n', []byte(v)), nil
	case string:
		return appendPart(form, 's', []byte(v)), nil
	case json.Delim:
		if v == '{' {
			return appendObject(form, decoder, depth)
		}
		return appendArray(form, decoder, depth)
	}
	return nil, fmt.Errorf("unknown token %T", token)
}

func appendArray(form []byte, decoder *json.Decoder, depth int) ([]byte, error) {
	var entries []byte
	var err error
	for decoder.More() {
		if entries, err = appendValue(entries, decoder, depth+1); err != nil {
			return nil, err
		}
	}
	_, err = decoder.Token()
	return appendPart(form, 'a', entries), err
}

func appendObject(form []byte, decoder *json.Decoder, depth int) ([]byte, error) {
	fields := map[string][]byte{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string)
		if _, twice := fields[name]; twice {
			return nil, errors.New("a name stands twice in an object")
		}
		value, err := appendValue(nil, decoder, depth+1)
		if err != nil {
			return nil, err
		}
		fields[name] = value
	}
	var entries []byte
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		entries = append(appendPart(entries, 's', []byte(name)), fields[name]...)
	}
	_, err := decoder.Token()
	return appendPart(form, 'o', entries), err
}

// appendPart appends a tag, a length and the bytes, so that no two values have the same form.
func appendPart(form []byte, tag byte, part []byte) []byte {
	form = append(form, tag)
	form = binary.BigEndian.AppendUint64(form, uint64(len(part)))
	return append(form, part...)
}
