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
	return len(object) > 2 || (len(object) > 0 && string(object) != "{}")
}

// eachExtension calls fn for each extension of a stored JSON object, in its
// order. Null means absent and is skipped. Everything that the schema forbids
// is an [*InvalidError].
func eachExtension(object []byte, fn func(name []byte, v scalar) error) error {
	var room [8][]byte
	seen := room[:0]
	var scratch [128]byte
	return eachMember(object, "extensions", func(name, value []byte) error {
		if reason := checkExtensionName(name); reason != "" {
			return invalid(string(name), reason)
		}
		for _, s := range seen {
			if bytes.Equal(s, name) {
				return invalid(string(name), reasonTwice)
			}
		}
		seen = append(seen, name)
		v, reason := parseScalar(scratch[:0], value)
		if reason != "" {
			return invalid(string(name), reason)
		}
		if v.kind == kindNull {
			return nil
		}
		return fn(name, v)
	})
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

// parseScalar reads one JSON value. An unescaped string goes into scratch if
// it differs from what is written. The reason is "" if all is well.
func parseScalar(scratch, value []byte) (v scalar, reason string) {
	switch {
	case len(value) >= 2 && value[0] == '"':
		text := value[1 : len(value)-1]
		if !plainJSON(text) {
			var ok bool
			if text, ok = appendUnquoted(scratch, text); !ok {
				return scalar{}, reasonBadString
			}
		}
		if reason := validText(text); reason != "" {
			return scalar{}, reason
		}
		return scalar{kind: kindString, text: text}, ""
	case string(value) == "true", string(value) == "false":
		return scalar{kind: kindBoolean, text: value}, ""
	case string(value) == "null":
		return scalar{kind: kindNull}, ""
	case isInteger(value):
		n, err := strconv.ParseInt(string(value), 10, 32)
		if err != nil {
			return scalar{}, "is outside the range of a CloudEvents integer, 32 bits"
		}
		return scalar{kind: kindInteger, text: strconv.AppendInt(scratch, n, 10)}, ""
	default:
		return scalar{}, "is not a string, a boolean or an integer"
	}
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
