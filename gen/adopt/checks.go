package adopt

import (
	"errors"
	"strings"

	"github.com/holdfast-dev/holdfast/gen/internal/statement"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// check is a constraint of the canonical table.
type check struct {
	name      string
	condition string // over its columns
}

// checks reads the constraints from the canonical SQL: the table need not be in the database yet.
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

// checksOf reads CONSTRAINT name CHECK (...) of a statement that makes or alters event_outbox.
func checksOf(sql string, s statement.Statement) []check {
	isTable := len(s.Tokens) > 4 && s.Tokens[1].Is("TABLE") && s.Tokens[4].Name() == "event_outbox"
	var found []check
	for i := 0; isTable && i+3 < len(s.Tokens); i++ {
		if !s.Tokens[i].Is("CONSTRAINT") || !s.Tokens[i+2].Is("CHECK") || s.Tokens[i+3].Text != "(" {
			continue
		}
		body := s.Tokens[i+3:]
		body = body[:statement.Closing(body)]
		found = append(found, check{s.Tokens[i+1].Name(), strings.TrimSpace(sql[body[0].Pos:body[len(body)-1].End()])})
	}
	return found
}
