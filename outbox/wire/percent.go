package wire

import (
	"strings"
	"unicode/utf8"
)

const upperHex = "0123456789ABCDEF"

// plain reports whether a header value stands for itself: nothing in it needs
// percent-encoding. Such a value is ASCII.
func plain[T string | []byte](s T) bool {
	for i := range len(s) {
		if mustEncode(s[i]) {
			return false
		}
	}
	return true
}

// mustEncode is the rule of the NATS binding, section 3.1.3.2.
func mustEncode(c byte) bool {
	return c < 0x21 || c > 0x7e || c == '"' || c == '%'
}

func appendPercent[T string | []byte](dst []byte, s T) []byte {
	for i := range len(s) {
		if c := s[i]; mustEncode(c) {
			dst = append(dst, '%', upperHex[c>>4], upperHex[c&15])
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

// decodeValue reads one header value as the binding asks: a double-quoted
// value is unquoted first, then comes a single round of percent-decoding. The
// reason is "" if all is well.
func decodeValue(v string) (value, reason string) {
	v = strings.Trim(v, " \t")
	if inner, ok := unquoteHeader(v); ok {
		v = inner
	}
	if strings.IndexByte(v, '%') >= 0 {
		buf := make([]byte, 0, len(v))
		for i := 0; i < len(v); i++ {
			c := v[i]
			if c == '%' {
				if i+2 >= len(v) {
					return "", reasonBadEscape
				}
				hi, lo := unhex(v[i+1]), unhex(v[i+2])
				if hi < 0 || lo < 0 {
					return "", reasonBadEscape
				}
				c = byte(hi<<4 | lo)
				i += 2
			}
			buf = append(buf, c)
		}
		v = string(buf)
	}
	return v, checkText(v)
}

// unquoteHeader reads a quoted-string (RFC 7230, section 3.2.6). A value that
// merely begins or ends with a quote is not one and stands for itself.
func unquoteHeader(v string) (string, bool) {
	if len(v) < 2 || v[0] != '"' || v[len(v)-1] != '"' {
		return "", false
	}
	inner := v[1 : len(v)-1]
	if !strings.ContainsAny(inner, `"\`) {
		return inner, true
	}
	buf := make([]byte, 0, len(inner))
	for i := 0; i < len(inner); i++ {
		switch inner[i] {
		case '"':
			return "", false
		case '\\':
			i++
			if i == len(inner) {
				return "", false // the closing quote is escaped
			}
		}
		buf = append(buf, inner[i])
	}
	return string(buf), true
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	default:
		return -1
	}
}

// checkText says what is wrong with the text of an attribute. NUL is refused
// because [MsgID] uses it as a separator and Postgres cannot store it. Other
// control characters have no place in CloudEvents, but are harmless once they
// are encoded.
func checkText[T string | []byte](s T) string {
	ascii := true
	for i := range len(s) {
		if s[i] == 0 {
			return reasonNUL
		}
		ascii = ascii && s[i] < utf8.RuneSelf
	}
	if !ascii && !utf8.ValidString(string(s)) {
		return reasonNotUTF8
	}
	return ""
}
