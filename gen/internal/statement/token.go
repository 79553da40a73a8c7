package statement

import "strings"

// Kind says what a token is.
type Kind int

// The kinds.
const (
	Word    Kind = iota // a key word, an unquoted identifier, a number
	Quoted              // an identifier in double quotes
	String              // a string in single quotes
	Dollar              // a dollar-quoted string
	Symbol              // anything else, one byte
	Comment             // of either form
)

// Token is a piece of SQL without white space.
type Token struct {
	Kind Kind
	Text string // as it stands in the SQL
	Pos  int    // offset of its first byte
}

// End is the offset behind the token.
func (t Token) End() int { return t.Pos + len(t.Text) }

// Is reports whether t is the unquoted word, which is given in upper case.
func (t Token) Is(word string) bool { return t.Kind == Word && strings.EqualFold(t.Text, word) }

// Name is the identifier that t stands for, folded as Postgres does it; "" for what is none.
func (t Token) Name() string {
	switch t.Kind {
	case Word:
		return strings.ToLower(t.Text)
	case Quoted:
		return strings.ReplaceAll(strings.TrimSuffix(t.Text[1:], `"`), `""`, `"`)
	default:
		return ""
	}
}

// Body is the text between the dollar quotes.
func (t Token) Body() string {
	if t.Kind != Dollar {
		return ""
	}
	tag := t.Text[:strings.IndexByte(t.Text[1:], '$')+2]
	return strings.TrimSuffix(t.Text[len(tag):], tag)
}

// Tokens cuts SQL into tokens.
func Tokens(sql string) []Token {
	var all []Token
	for pos := 0; pos < len(sql); {
		c := sql[pos]
		if isSpace(c) {
			pos++
			continue
		}
		kind, length := next(sql[pos:], all, pos)
		all = append(all, Token{Kind: kind, Text: sql[pos : pos+length], Pos: pos})
		pos += length
	}
	return all
}

// next measures the token that begins the text; before are the tokens up to it.
func next(text string, before []Token, pos int) (Kind, int) {
	switch c := text[0]; {
	case strings.HasPrefix(text, "--"):
		return Comment, until(text, "\n", 0)
	case strings.HasPrefix(text, "/*"):
		return Comment, blockComment(text)
	case c == '\'':
		return String, quoted(text, '\'', isEscape(before, pos))
	case c == '"':
		return Quoted, quoted(text, '"', false)
	case c == '$':
		if tag := dollarTag(text); tag != "" {
			return Dollar, until(text[len(tag):], tag, len(tag)) + len(tag)
		}
		return Symbol, 1
	case isWord(c):
		length := 1
		for length < len(text) && (isWord(text[length]) || text[length] == '$') {
			length++
		}
		return Word, length
	default:
		return Symbol, 1
	}
}

// until is the length up to end and plus more bytes of it; the whole text without end.
func until(text, end string, plus int) int {
	if i := strings.Index(text, end); i >= 0 {
		return i + plus
	}
	return len(text)
}

// isEscape reports whether a string at pos follows the E that gives backslashes a meaning.
func isEscape(before []Token, pos int) bool {
	if len(before) == 0 {
		return false
	}
	last := before[len(before)-1]
	return last.End() == pos && last.Is("E")
}

func quoted(text string, quote byte, escapes bool) int {
	for i := 1; i < len(text); i++ {
		switch {
		case escapes && text[i] == '\\':
			i++
		case text[i] == quote && i+1 < len(text) && text[i+1] == quote:
			i++
		case text[i] == quote:
			return i + 1
		}
	}
	return len(text)
}

func blockComment(text string) int {
	depth := 0
	for i := 0; i < len(text)-1; i++ {
		switch text[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			depth--
			i++
			if depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}

// dollarTag is the opening tag at the start of the text, such as $$ or $body$.
func dollarTag(text string) string {
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '$':
			return text[:i+1]
		case !isWord(c) || i == 1 && c >= '0' && c <= '9':
			return ""
		}
	}
	return ""
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func isWord(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80
}
