package statement

import "slices"

// Target is an object that a statement creates, changes or drops. For what hangs on a
// table, such as an index or a trigger, the table is a target too.
type Target struct {
	Schema, Name string // Schema is empty when the statement leaves it to the search path
	Pos          int    // offset of the statement
}

// Targets finds the objects that the statements of a text define, also those in the body
// of a DO statement. Changing the owner of an object is not defining it.
func Targets(sql string) []Target {
	var all []Target
	for _, s := range Split(sql) {
		for _, t := range targets(s) {
			t.Pos = s.Start
			all = append(all, t)
		}
	}
	return all
}

func targets(s Statement) []Target {
	if s.Tokens[0].Is("DO") {
		var all []Target
		for _, t := range s.Tokens {
			for _, inner := range Split(t.Body()) {
				// A block opens with words before its first statement.
				for i := range inner.Tokens {
					all = append(all, define(inner.Tokens[i:])...)
				}
			}
		}
		return all
	}
	return define(s.Tokens)
}

var (
	verbs      = []string{"CREATE", "ALTER", "DROP"}
	modifiers  = []string{"OR", "REPLACE", "TEMP", "TEMPORARY", "UNLOGGED", "UNIQUE", "CONSTRAINT", "MATERIALIZED", "FOREIGN", "RECURSIVE", "GLOBAL", "LOCAL"}
	named      = []string{"TABLE", "SEQUENCE", "VIEW", "FUNCTION", "PROCEDURE", "ROUTINE", "AGGREGATE", "TYPE", "DOMAIN"}
	hanging    = []string{"TRIGGER", "POLICY", "RULE"}
	conditions = []string{"IF", "NOT", "EXISTS", "CONCURRENTLY", "ONLY"}
)

// define reads one statement from its verb on.
func define(tokens []Token) []Target {
	if len(tokens) == 0 || !isOne(tokens[0], verbs) || changesOwner(tokens) {
		return nil
	}
	rest := skip(tokens[1:], modifiers)
	if len(rest) == 0 {
		return nil
	}
	kind, rest := rest[0], skip(rest[1:], conditions)
	switch {
	case isOne(kind, named):
		return append(list(rest), after(rest, "PARTITION", "OF")...)
	case kind.Is("INDEX") && tokens[0].Is("CREATE"):
		return index(rest)
	case kind.Is("INDEX"):
		return list(rest)
	case isOne(kind, hanging):
		return append(after(rest, "ON"), after(rest, "TO")...)
	default:
		return nil
	}
}

// index is CREATE INDEX: the table, and the index in the schema of the table.
func index(rest []Token) []Target {
	tables := after(rest, "ON")
	if len(tables) == 0 || len(rest) == 0 || rest[0].Is("ON") {
		return tables
	}
	return append(tables, Target{Schema: tables[0].Schema, Name: rest[0].Name()})
}

// list reads names separated by commas, with or without argument lists.
func list(rest []Token) []Target {
	var all []Target
	for {
		t, n := chain(rest)
		if n == 0 {
			return all
		}
		all, rest = append(all, t), rest[n:]
		if len(rest) > 0 && rest[0].Text == "(" {
			rest = rest[Closing(rest):]
		}
		if len(rest) == 0 || rest[0].Text != "," {
			return all
		}
		rest = rest[1:]
	}
}

// after reads the name behind the given words.
func after(rest []Token, words ...string) []Target {
	for i := range rest {
		if i+len(words) > len(rest) {
			break
		}
		if !slices.EqualFunc(rest[i:i+len(words)], words, Token.Is) {
			continue
		}
		if t, n := chain(skip(rest[i+len(words):], conditions)); n > 0 {
			return []Target{t}
		}
	}
	return nil
}

// chain reads a name with the dots in it, and says how many tokens that takes.
func chain(rest []Token) (Target, int) {
	var t Target
	n := 0
	for n < len(rest) && rest[n].Name() != "" {
		t.Schema, t.Name = t.Name, rest[n].Name()
		n++
		if n+1 >= len(rest) || rest[n].Text != "." {
			break
		}
		n++
	}
	return t, n
}

// Closing is the offset behind the parenthesis that closes the first token.
func Closing(rest []Token) int {
	depth := 0
	for i, t := range rest {
		switch t.Text {
		case "(":
			depth++
		case ")":
			depth--
			if depth == 0 {
				return i + 1
			}
		}
	}
	return len(rest)
}

func changesOwner(tokens []Token) bool {
	for i := range tokens[1:] {
		if tokens[i].Is("OWNER") && tokens[i+1].Is("TO") {
			return true
		}
	}
	return false
}

func skip(rest []Token, words []string) []Token {
	for len(rest) > 0 && isOne(rest[0], words) {
		rest = rest[1:]
	}
	return rest
}

func isOne(t Token, words []string) bool { return slices.ContainsFunc(words, t.Is) }
