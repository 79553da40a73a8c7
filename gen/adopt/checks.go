package adopt

import (
	"errors"
	"strings"

	"github.com/holdfast-dev/holdfast/gen/internal/statement"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// logTable is the table of the canonical schema that rows are moved to.
const logTable = "event_outbox"

// check is a rule of the canonical table.
type check struct {
	name      string
	condition string // over its columns
}

// checks reads the rules from the canonical SQL: the table need not be in the database yet.
func checks(params canonical.Params) ([]check, error) {
	plan, err := canonical.Plan(params, canonical.Outbox)
	if err != nil {
		return nil, err
	}
	var found []check
	for _, file := range plan {
		for _, s := range statement.Split(file.SQL) {
			found = append(found, checksOf(file.SQL, s)...)
		}
	}
	if len(found) == 0 {
		return nil, errors.New("the canonical table has no constraints")
	}
	return found, nil
}

// checksOf reads CONSTRAINT name CHECK (...) of a statement that makes event_outbox or the domain of
// one of its columns.
func checksOf(sql string, s statement.Statement) []check {
	column, ours := judges(s)
	var found []check
	for i := 0; ours && i+3 < len(s.Tokens); i++ {
		if !s.Tokens[i].Is("CONSTRAINT") || !s.Tokens[i+2].Is("CHECK") || s.Tokens[i+3].Text != "(" {
			continue
		}
		body := s.Tokens[i+3:]
		body = body[:statement.Closing(body)]
		if c := (check{s.Tokens[i+1].Name(), conditionOf(sql, body, column)}); c.condition != "" {
			found = append(found, c)
		}
	}
	return found
}

// judges reports whether a statement makes event_outbox or one of its domains, which bears the name
// of the column behind that of the table.
func judges(s statement.Statement) (column string, ours bool) {
	if len(s.Tokens) < 5 {
		return "", false
	}
	name := s.Tokens[4].Name()
	switch {
	case s.Tokens[1].Is("TABLE"):
		return "", name == logTable
	case s.Tokens[0].Is("CREATE") && s.Tokens[1].Is("DOMAIN"):
		return strings.CutPrefix(name, logTable+"_")
	}
	return "", false
}

// conditionOf writes the condition of a check, that of a domain over its column. It is "" for one that
// casts to the domains, whose conditions are told one by one.
func conditionOf(sql string, body []statement.Token, column string) string {
	var b strings.Builder
	at := body[0].Pos
	for _, t := range body {
		switch {
		case column != "" && t.Is("VALUE"):
			b.WriteString(sql[at:t.Pos] + `"` + column + `"`)
			at = t.End()
		case column == "" && strings.HasPrefix(t.Name(), logTable+"_"):
			return ""
		}
	}
	b.WriteString(sql[at:body[len(body)-1].End()])
	return b.String()
}
