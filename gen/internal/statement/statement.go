package statement

// Statement is one statement of a text.
type Statement struct {
	Start, End int     // offsets: of its first word, and behind its semicolon
	Tokens     []Token // without comments and without the semicolon
	Closed     bool    // a semicolon ends it
}

// Split cuts SQL at the semicolons that end statements. What has no word is none.
func Split(sql string) []Statement {
	var all []Statement
	var current Statement
	depth := 0
	for _, t := range Tokens(sql) {
		switch {
		case t.Kind == Comment:
			continue
		case t.Kind == Symbol && t.Text == "(":
			depth++
		case t.Kind == Symbol && t.Text == ")":
			depth = max(depth-1, 0)
		case t.Kind == Symbol && t.Text == ";" && depth == 0:
			if len(current.Tokens) > 0 {
				current.End, current.Closed = t.End(), true
				all = append(all, current)
			}
			current = Statement{}
			continue
		}
		if len(current.Tokens) == 0 {
			current.Start = t.Pos
		}
		current.Tokens = append(current.Tokens, t)
		current.End = t.End()
	}
	if len(current.Tokens) > 0 {
		all = append(all, current)
	}
	return all
}

// HasDollarQuote reports whether a dollar-quoted string is part of the statement.
func (s Statement) HasDollarQuote() bool {
	for _, t := range s.Tokens {
		if t.Kind == Dollar {
			return true
		}
	}
	return false
}
