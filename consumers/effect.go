package consumers

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/consumers/facts"
)

// EffectColumn is the usual name of the column by which an effect names its fact. The service's
// table has it with both constraints, so that a fact has one effect at most:
//
//	fact_id bigint NOT NULL UNIQUE REFERENCES outbox.consumer_fact (id)
const EffectColumn = "fact_id"

// Effect says where the effect of a type of fact is, and which of its columns say what the
// fact says. The more columns it names, the more the proof proves.
type Effect struct {
	// Table of the service, "refund" or "billing.refund". Required.
	Table string
	// Column is the foreign key to the fact. Defaults to [EffectColumn].
	Column string
	// Account is the column with the account of the fact. Defaults to none.
	Account string
	// Attributes are columns by the attribute of the fact that each must equal, compared as
	// text. Defaults to none.
	Attributes map[string]string
}

// Querier is what a proof reads with: the transaction of the handler, and later the pool.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Evidence is what a proof found: how many effects a fact has, and how many of them say what
// the fact says. A fact is proven when both are 1.
type Evidence struct{ Effects, Matching int }

// Proof looks for the effects of a fact that was claimed. It must read with db alone: first in the
// transaction of the handler, then after the commit. It must be safe for concurrent use.
type Proof func(ctx context.Context, db Querier, claimed facts.Claimed) (Evidence, error)

func (e Effect) problem() string {
	parts := strings.Split(e.Table, ".")
	names := append(slices.Clone(parts), e.Column, e.Account)
	for _, column := range e.Attributes {
		names = append(names, column)
	}
	switch {
	case e.Table == "" || len(parts) > 2 || slices.Contains(parts, ""):
		return fmt.Sprintf("table %q: must be a name, or schema and name", e.Table)
	case slices.ContainsFunc(names, func(n string) bool { return !storable(n) || len(n) > 63 }):
		return "names must be 63 bytes of UTF-8 text at most"
	}
	for attribute, column := range e.Attributes {
		if column == "" || !storable(attribute) {
			return fmt.Sprintf("attribute %q: must name a column", attribute)
		}
	}
	return ""
}

// statement returns the join of the fact and its effect. The names of attributes are values of
// the statement, from $7 on; the names of tables and columns are quoted.
func (e Effect) statement(schema string) (sql string, attributes []any) {
	quote := func(name string) string { return pgx.Identifier{name}.Sanitize() }
	column := e.Column
	if column == "" {
		column = EffectColumn
	}
	same := []string{
		"f.source = $2", "f.account_id = $3", "f.fact_type = $4", "f.fact_key = $5", "f.attributes = $6::jsonb",
	}
	if e.Account != "" {
		same = append(same, "e."+quote(e.Account)+"::text = f.account_id")
	}
	for _, attribute := range sortedKeys(e.Attributes) {
		attributes = append(attributes, attribute)
		same = append(same, fmt.Sprintf("e.%s::text IS NOT DISTINCT FROM f.attributes ->> $%d::text", quote(e.Attributes[attribute]), 6+len(attributes)))
	}
	sql = fmt.Sprintf("SELECT count(*), count(*) FILTER (WHERE %s) FROM %s.consumer_fact AS f JOIN %s AS e ON e.%s = f.id WHERE f.id = $1",
		strings.Join(same, " AND "), schema, pgx.Identifier(strings.Split(e.Table, ".")).Sanitize(), quote(column))
	return sql, attributes
}

// joins is the default proof: one statement for each type of fact.
func joins(schema string, effects map[string]Effect) Proof {
	type join struct {
		sql        string
		attributes []any
	}
	byType := map[string]join{}
	for factType, e := range effects {
		sql, attributes := e.statement(schema)
		byType[factType] = join{sql, attributes}
	}
	return func(ctx context.Context, db Querier, c facts.Claimed) (found Evidence, err error) {
		j, known := byType[c.Type]
		if !known {
			return Evidence{}, &ProofError{FactType: c.Type, Reason: "no effect is configured for this type of fact"}
		}
		args := append([]any{c.ID, c.Source, c.Account, c.Type, c.Key.String(), c.Attributes}, j.attributes...)
		err = db.QueryRow(ctx, j.sql, args...).Scan(&found.Effects, &found.Matching)
		return found, err
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
