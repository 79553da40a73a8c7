package reconcile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// deepest is more than anybody nests.
const deepest = 1000

var errTooDeep = fmt.Errorf("is nested deeper than %d", deepest)

// twiceError is about an object that tells a member twice: nobody knows which one counts.
type twiceError struct{ member string }

func (e *twiceError) Error() string { return fmt.Sprintf("has %q twice", e.member) }

// members reads the rest of an object whose bracket was read.
func members(d *json.Decoder, depth int) (map[string]any, error) {
	if depth > deepest {
		return nil, errTooDeep
	}
	object := map[string]any{}
	for {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, is := token.(string)
		if !is { // the bracket
			return object, nil
		}
		if _, twice := object[name]; twice {
			return nil, &twiceError{name}
		}
		if object[name], err = value(d, depth); err != nil {
			return nil, err
		}
	}
}

// value reads what a member has. Of an array only that it is one: nothing of it can be compared.
func value(d *json.Decoder, depth int) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		return members(d, depth+1)
	case json.Delim('['):
		if depth > deepest {
			return nil, errTooDeep
		}
		for d.More() {
			if _, err := value(d, depth+1); err != nil {
				return nil, err
			}
		}
		_, err := d.Token()
		return []any{}, err
	}
	return token, nil
}

// objectOf reads one object and nothing else.
func objectOf(data []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return nil, errors.Join(errNoObject, err)
	}
	object, err := members(d, 1)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("has something behind the object")
	}
	return object, nil
}

// member finds a member by its path, and gives it as text. null is absent.
func member(object map[string]any, path string) (string, bool) {
	head, rest, deeper := strings.Cut(path, ".")
	switch value := object[head].(type) {
	case map[string]any:
		if deeper {
			return member(value, rest)
		}
	case string:
		return value, !deeper
	case json.Number:
		return value.String(), !deeper
	case bool:
		return fmt.Sprint(value), !deeper
	}
	return "", false
}
