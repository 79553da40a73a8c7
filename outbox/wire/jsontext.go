package wire

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// members reads the members of a JSON object one by one. It checks the object
// itself; values are only delimited, not checked.
type members struct {
	text  []byte
	field string // what an error is about
	at    int    // index of what is read next
	begun bool
}

// next returns the next member, with its name unescaped and its value as it is
// written. After the last one ok is false.
func (m *members) next() (name, value []byte, ok bool, err error) {
	if !m.begun {
		m.begun = true
		if !m.skip('{') {
			return nil, nil, false, m.bad()
		}
		if m.skip('}') {
			return nil, nil, false, m.end()
		}
	} else if m.skip('}') {
		return nil, nil, false, m.end()
	} else if !m.skip(',') {
		return nil, nil, false, m.bad()
	}
	m.at = skipSpace(m.text, m.at)
	name = m.value()
	if len(name) < 2 || name[0] != '"' {
		return nil, nil, false, m.bad()
	}
	name = name[1 : len(name)-1]
	if !plainJSON(name) {
		if name, ok = appendUnquoted(nil, name); !ok {
			return nil, nil, false, m.bad()
		}
	}
	if !m.skip(':') {
		return nil, nil, false, m.bad()
	}
	m.at = skipSpace(m.text, m.at)
	if value = m.value(); value == nil {
		return nil, nil, false, m.bad()
	}
	return name, value, true, nil
}

// skip steps over white space and over c, and reports whether c was there.
func (m *members) skip(c byte) bool {
	m.at = skipSpace(m.text, m.at)
	if m.at == len(m.text) || m.text[m.at] != c {
		return false
	}
	m.at++
	return true
}

func (m *members) value() []byte {
	end := endOfValue(m.text, m.at)
	if end < 0 {
		return nil
	}
	v := m.text[m.at:end]
	m.at = end
	return v
}

func (m *members) end() error {
	if skipSpace(m.text, m.at) != len(m.text) {
		return m.bad()
	}
	return nil
}

func (m *members) bad() error {
	return invalid(m.field, reasonBadObject)
}

func skipSpace(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r') {
		i++
	}
	return i
}

// endOfValue returns the index after the JSON value that begins at i, or -1 if
// there is none. Nested values end where their brackets are balanced.
func endOfValue(text []byte, i int) int {
	start, depth := i, 0
	for i < len(text) {
		switch text[i] {
		case '"':
			if i = endOfString(text, i); i < 0 {
				return -1
			}
		case '{', '[':
			depth++
			i++
		case '}', ']':
			if depth == 0 {
				return notEmpty(start, i)
			}
			depth--
			i++
		case ',', ':', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return notEmpty(start, i)
			}
			i++
			continue
		default:
			i++
			continue
		}
		if depth == 0 {
			return i
		}
	}
	return -1
}

func notEmpty(start, end int) int {
	if start == end {
		return -1
	}
	return end
}

func endOfString(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return -1
}

// plainJSON reports whether the inside of a JSON string stands for itself.
func plainJSON(s []byte) bool {
	for _, c := range s {
		if c == '\\' || c == '"' || c < 0x20 {
			return false
		}
	}
	return true
}

// appendUnquoted unescapes the inside of a JSON string. It is stricter than
// encoding/json: a lone surrogate is refused, not replaced, because two
// different ids must never become one.
func appendUnquoted(dst, s []byte) ([]byte, bool) {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '"' || c < 0x20 {
			return nil, false
		}
		if c != '\\' {
			dst = append(dst, c)
			continue
		}
		if i++; i == len(s) {
			return nil, false
		}
		if s[i] != 'u' {
			at := strings.IndexByte(`"\/bfnrt`, s[i])
			if at < 0 {
				return nil, false
			}
			dst = append(dst, "\"\\/\b\f\n\r\t"[at])
			continue
		}
		r, ok := hex4(s, i+1)
		if !ok {
			return nil, false
		}
		i += 4
		if utf16.IsSurrogate(r) {
			low, ok := hex4(s, i+3)
			if !ok || s[i+1] != '\\' || s[i+2] != 'u' {
				return nil, false
			}
			if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
				return nil, false
			}
			i += 6
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst, true
}

func hex4(s []byte, i int) (rune, bool) {
	if i+4 > len(s) {
		return 0, false
	}
	var r rune
	for _, c := range s[i : i+4] {
		d := unhex(c)
		if d < 0 {
			return 0, false
		}
		r = r<<4 | rune(d)
	}
	return r, true
}

// appendQuoted writes a JSON string. The text must be valid UTF-8.
func appendQuoted[T string | []byte](dst []byte, s T) []byte {
	dst = append(dst, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', upperHex[c>>4], upperHex[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

// isJSON reports whether a media type declares JSON: "*/json" or "*/*+json",
// in any case, parameters ignored (JSON format, section 3.1.1).
func isJSON(mediaType string) bool {
	mediaType, _, _ = strings.Cut(mediaType, ";")
	kind, subtype, found := strings.Cut(strings.Trim(mediaType, " \t"), "/")
	if !found || kind == "" {
		return false
	}
	if strings.EqualFold(subtype, "json") {
		return true
	}
	const suffix = "+json"
	n := len(subtype) - len(suffix)
	return n > 0 && strings.EqualFold(subtype[n:], suffix)
}
