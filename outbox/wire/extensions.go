package wire

import (
	"bytes"
	"strconv"
)

// maxExtensionName is the length that CloudEvents recommends at most and the
// schema enforces.
const maxExtensionName = 20

const reasonBadObject = "is not a JSON object"

// kind is the type of a JSON scalar that an attribute can have.
type kind int

const (
	kindNull kind = iota
	kindString
	kindBoolean
	kindInteger
)

// scalar is an attribute value out of JSON. Its text is unescaped, valid UTF-8
// without NUL.
type scalar struct {
	kind kind
	text []byte
}

// hasExtensions answers the usual case without parsing.
func hasExtensions(object []byte) bool {
	return len(object) > 0 && string(object) != "{}"
}

// extensionSlots is room on the stack for usual extensions; more is taken from
// the heap.
const extensionSlots = 8

// extension is one extension attribute.
type extension struct {
	name  []byte
	value scalar
}

// parseExtensions appends the extensions of a stored JSON object to dst, in
// their order. Null means absent, but is kept here, so that its name counts as
// given. Everything that the schema forbids is an [*InvalidError].
func parseExtensions(dst []extension, object []byte) ([]extension, error) {
	for m := (members{text: object, field: "extensions"}); ; {
		name, value, ok, err := m.next()
		if err != nil || !ok {
			return dst, err
		}
		if reason := checkExtensionName(name); reason != "" {
			return nil, invalid(string(name), reason)
		}
		for i := range dst {
			if bytes.Equal(dst[i].name, name) {
				return nil, invalid(string(name), reasonTwice)
			}
		}
		v, reason := parseScalar(value)
		if reason != "" {
			return nil, invalid(string(name), reason)
		}
		dst = append(dst, extension{name: name, value: v})
	}
}

func checkExtensionName(name []byte) string {
	if !validAttributeName(name) || len(name) > maxExtensionName {
		return "is not an extension name: 1 to 20 of a-z and 0-9"
	}
	if isCoreName(name) || string(name) == "partitionkey" {
		return "is not an extension name: it is reserved"
	}
	return ""
}

// validAttributeName is the naming convention of CloudEvents.
func validAttributeName[T string | []byte](name T) bool {
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return len(name) > 0
}

// isCoreName reports whether an extension must not have this name. The name
// data_base64 is reserved as well, and is not a valid attribute name.
func isCoreName[T string | []byte](name T) bool {
	switch string(name) {
	case "specversion", "id", "source", "type", "subject", "time",
		"datacontenttype", "dataschema", "data":
		return true
	}
	return false
}

// parseScalar reads one JSON value. Its text is a piece of what is written
// wherever that stands for itself. The reason is "" if all is well.
func parseScalar(value []byte) (v scalar, reason string) {
	switch {
	case len(value) >= 2 && value[0] == '"':
		v := scalar{kind: kindString, text: value[1 : len(value)-1]}
		if !plainJSON(v.text) {
			var ok bool
			if v.text, ok = appendUnquoted(nil, v.text); !ok {
				return scalar{}, reasonBadString
			}
		}
		return v, checkText(v.text)
	case string(value) == "true", string(value) == "false":
		return scalar{kind: kindBoolean, text: value}, ""
	case string(value) == "null":
		return scalar{kind: kindNull}, ""
	case isInteger(trimZeroFraction(value)):
		value = trimZeroFraction(value)
		if _, err := strconv.ParseInt(string(value), 10, 32); err != nil {
			return scalar{}, "is outside the range of a CloudEvents integer, 32 bits"
		}
		if string(value) == "-0" {
			value = value[1:]
		}
		return scalar{kind: kindInteger, text: value}, ""
	default:
		return scalar{}, "is not a string, a boolean or an integer"
	}
}

// trimZeroFraction cuts a fraction of zeros: jsonb keeps the scale of a number, so that
// 1.0 is stored as it was written and is the integer 1.
func trimZeroFraction(s []byte) []byte {
	if whole, fraction, ok := bytes.Cut(s, []byte(".")); ok && len(fraction) > 0 && len(bytes.Trim(fraction, "0")) == 0 {
		return whole
	}
	return s
}

// isInteger is the grammar of a JSON number without fraction and exponent.
func isInteger(s []byte) bool {
	if len(s) > 0 && s[0] == '-' {
		s = s[1:]
	}
	if len(s) == 0 || (s[0] == '0' && len(s) > 1) {
		return false
	}
	for _, c := range s {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}
