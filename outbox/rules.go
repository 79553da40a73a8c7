package outbox

import (
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// The rules of this file are the CHECK constraints of event_outbox, and the words are
// those of the SQL functions: an event that passes here is one that the database takes,
// and the other way round. Sizes are bytes. Three things the database refuses before
// any constraint looks: text that is not UTF-8, text with a NUL, and years that no time
// has. The 66 noncharacters of Unicode, which CloudEvents forbids, pass in both places.

const (
	maxName       = 255  // id, type, datacontenttype, partitionkey
	maxReference  = 1024 // source, subject, dataschema
	maxExtensions = 8192 // all extensions of an event together, as jsonb writes them
)

const (
	problemSource      = "must be a URI reference of 1 to 1024 bytes without white space or control characters"
	problemID          = "must be 1 to 255 bytes without control characters"
	problemType        = "must be dotted tokens of printable ASCII without * > $ in front, white space or empty tokens, 255 bytes at most"
	problemSubject     = "must be 1 to 1024 bytes without control characters"
	problemContentType = "must be a media type of 255 bytes at most"
	problemSchema      = "must be an absolute URI of 1024 bytes at most"
	problemKey         = "must be 1 to 255 bytes without control characters"
	problemTime        = "must be in the years 1 to 9999"
	problemUTF8        = "is not UTF-8"
)

// hints says what to do about a field; extensions have their own.
var hints = map[string]string{
	"specversion":     "Make events with event.New(), which is version 1.0.",
	"id":              "Leave id empty to get a UUIDv7.",
	"source":          "Name the producer, such as /orders or https://example.com/orders.",
	"type":            "The type becomes part of a NATS subject: use a name such as order.placed.",
	"subject":         "Leave subject out when there is none.",
	"time":            "Leave time out to get the clock of the database.",
	"datacontenttype": "Use a media type such as application/json.",
	"dataschema":      "Use a URI such as https://example.com/schemas/order.json.",
	"partitionkey":    "Leave partitionkey out for an event without order.",
	"data":            "Store large content elsewhere and publish a reference to it.",
	"extensions":      "Put large values into data.",
}

// isControl reports C0 controls, DEL and C1 controls.
func isControl(r rune) bool { return r < 0x20 || r >= 0x7f && r <= 0x9f }

// plainText reports UTF-8 without control characters.
func plainText(s string) bool { return utf8.ValidString(s) && strings.IndexFunc(s, isControl) < 0 }

func validText(s string, limit int) bool { return s != "" && len(s) <= limit && plainText(s) }

func validSource(s string) bool { return validText(s, maxReference) && !strings.Contains(s, " ") }

// validType reports dotted tokens of printable ASCII that can stand in a NATS subject.
// A $ in front would reach into the server's own subjects.
func validType(s string) bool {
	if s == "" || len(s) > maxName || s[0] == '$' {
		return false
	}
	dot := true // the token has no character yet
	for i := range len(s) {
		switch c := s[i]; {
		case c == '.':
			if dot {
				return false
			}
			dot = true
		case c <= ' ' || c > '~' || c == '*' || c == '>':
			return false
		default:
			dot = false
		}
	}
	return !dot
}

// validMediaType reports type/subtype, then nothing or spaces, a semicolon and printable ASCII.
func validMediaType(s string) bool {
	if len(s) > maxName {
		return false
	}
	full, parameters, has := strings.Cut(s, ";")
	if has {
		full = strings.TrimRight(full, " ")
	}
	major, minor, ok := strings.Cut(full, "/")
	return ok && mediaToken(major) && mediaToken(minor) &&
		strings.IndexFunc(parameters, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}

func mediaToken(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !isAlphanumeric(r) && !strings.ContainsRune("!#$&^_.+-", r)
	}) < 0
}

// validURI reports a scheme, a colon and something after it.
func validURI(s string) bool {
	scheme, rest, ok := strings.Cut(s, ":")
	return ok && scheme != "" && rest != "" && len(s) <= maxReference && plainText(rest) && !strings.Contains(rest, " ") &&
		!isDigit(rune(scheme[0])) && isAlphanumeric(rune(scheme[0])) &&
		strings.IndexFunc(scheme, func(r rune) bool { return !isAlphanumeric(r) && !strings.ContainsRune("+.-", r) }) < 0
}

// validExtensionName reports a name by the CloudEvents naming convention.
func validExtensionName(s string) bool {
	return s != "" && len(s) <= 20 && strings.IndexFunc(s, func(r rune) bool {
		return !isDigit(r) && (r < 'a' || r > 'z')
	}) < 0
}

// reservedName reports what can be no extension. partitionkey is one for CloudEvents and
// a column of its own here.
func reservedName(s string) bool {
	switch s {
	case "id", "source", "type", "specversion", "subject", "time", "datacontenttype", "dataschema", "data", "partitionkey":
		return true
	}
	return false
}

// validTime reports a UTC time that is in the years 1 to 9999 also after Postgres has
// rounded it to microseconds, which it does in floating point, half to even.
func validTime(t time.Time) bool {
	if t.Year() < 1 || t.Year() > 9999 {
		return false
	}
	last := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	return t.Before(last) || math.RoundToEven(float64(t.Nanosecond())/1e9*1e6) < 1e6
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

func isAlphanumeric(r rune) bool {
	return isDigit(r) || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// shorten cuts a text that is quoted in an error.
func shorten(s string) string {
	const limit = 64
	for i, n := 0, 0; i < len(s); n++ {
		if n == limit {
			return s[:i]
		}
		_, size := utf8.DecodeRuneInString(s[i:])
		i += size
	}
	return s
}
