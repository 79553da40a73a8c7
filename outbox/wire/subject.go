package wire

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/outbox"
)

// maxSubjectBytes keeps the protocol line below the server's max_control_line
// (4096 bytes unless configured): a longer line ends the whole connection, so
// that one event would look like an outage and stop its lane for ever. The
// rest of the line is the command, the reply subject and two sizes.
const maxSubjectBytes = 3072

// variable is a placeholder of a subject template; none marks literal text.
type variable int

const (
	none variable = iota
	varType
	varSource
	varSubject
	varPartitionKey
)

// part is one piece of a compiled template.
type part struct {
	literal string
	from    variable
}

// compileSubject parses a template. {prefix} never changes, so it becomes
// literal text here.
func compileSubject(template, prefix string) ([]part, error) {
	var parts []part
	literal := func(s string) {
		if n := len(parts); n > 0 && parts[n-1].from == none {
			parts[n-1].literal += s
		} else if s != "" {
			parts = append(parts, part{literal: s})
		}
	}
	for rest := template; rest != ""; {
		before, after, found := strings.Cut(rest, "{")
		if strings.Contains(before, "}") {
			return nil, badTemplate(`has a "}" without "{"`)
		}
		literal(before)
		if !found {
			break
		}
		name, tail, closed := strings.Cut(after, "}")
		if !closed {
			return nil, badTemplate(`has a "{" without "}"`)
		}
		rest = tail
		switch name {
		case "prefix":
			literal(prefix)
		case "type":
			parts = append(parts, part{from: varType})
		case "source":
			parts = append(parts, part{from: varSource})
		case "subject":
			parts = append(parts, part{from: varSubject})
		case "partitionkey":
			parts = append(parts, part{from: varPartitionKey})
		default:
			return nil, badTemplate(fmt.Sprintf("uses the unknown variable {%s}", name))
		}
	}
	// Variables are never empty and hold only whole tokens, so a template is
	// right if it is right with "x" in each of their places.
	var sample strings.Builder
	for _, p := range parts {
		if p.from == none {
			sample.WriteString(p.literal)
		} else {
			sample.WriteByte('x')
		}
	}
	if reason := checkTokens(sample.String()); reason != "" {
		return nil, badTemplate(reason)
	}
	if sample.String()[0] == '$' {
		return nil, badTemplate(reasonReserved)
	}
	return parts, nil
}

func badTemplate(reason string) error {
	return &ConfigError{
		Field:  "Subject",
		Reason: reason,
		Hint: `use subject tokens and {prefix}, {type}, {source}, {subject}, {partitionkey}, ` +
			`such as "{prefix}.{type}"`,
	}
}

// wildcard returns the narrowest subject filter that matches every subject
// that the template can give.
func wildcard(parts []part) string {
	var out strings.Builder
	var token strings.Builder // literal text of the token being read
	variableToken := false
	flush := func() {
		if variableToken {
			out.WriteByte('*')
		} else {
			out.WriteString(token.String())
		}
		token.Reset()
		variableToken = false
	}
	for _, p := range parts {
		switch p.from {
		case none:
			for i, piece := range strings.Split(p.literal, ".") {
				if i > 0 {
					flush()
					out.WriteByte('.')
				}
				token.WriteString(piece)
			}
		case varType: // any number of tokens
			return out.String() + ">"
		default:
			variableToken = true
		}
	}
	flush()
	return out.String()
}

// appendSubject renders the template for one event.
func (e *Encoder) appendSubject(dst []byte, rec *outbox.Record) ([]byte, error) {
	start := len(dst)
	for i := range e.subject {
		switch p := &e.subject[i]; p.from {
		case none:
			dst = append(dst, p.literal...)
		case varType:
			dst = append(dst, rec.Type...)
		case varSource:
			dst = appendToken(dst, rec.Source)
		case varSubject:
			dst = appendToken(dst, rec.Subject)
		case varPartitionKey:
			dst = appendToken(dst, rec.PartitionKey)
		}
	}
	if dst[start] == '$' { // only a type that comes first can do this
		return nil, invalid("type", reasonReserved)
	}
	if len(dst)-start > maxSubjectBytes {
		return nil, invalid("record", "gives a message subject that is too long for the server")
	}
	return dst, nil
}

// appendToken makes one subject token of any text.
func appendToken(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, '_')
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-':
			dst = append(dst, c)
		default:
			dst = append(dst, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return dst
}

// checkTokens says why s cannot be used as subject tokens joined by dots;
// "" means that it can.
func checkTokens(s string) string {
	if s == "" {
		return reasonMissing
	}
	ascii := true
	last := byte('.')
	for i := range len(s) {
		c := s[i]
		switch {
		case c <= ' ' || c == 0x7f:
			return "contains white space or a control character"
		case c == '*' || c == '>':
			return "contains a subject wildcard"
		case c == '.' && last == '.':
			return "has an empty subject token"
		case c >= utf8.RuneSelf:
			ascii = false
		}
		last = c
	}
	if last == '.' {
		return "has an empty subject token"
	}
	if !ascii && !utf8.ValidString(s) {
		return reasonNotUTF8
	}
	return ""
}
