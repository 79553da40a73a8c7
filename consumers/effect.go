package consumers

import (
	"context"
	"encoding/json"
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

// Querier is what a proof reads with: the transaction of the handler, and after the commit its connection.
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

// join returns the statements that count the effects of a fact, and those of them that say what the fact says.
// The names of attributes are values of the statement, from $7 on; the names of tables and columns are quoted.
// Each fact is looked up by itself, whatever a plan that was made for small tables thinks of joining them.
func (e Effect) join(schema string) join {
	var attributes []any
	for _, attribute := range sortedKeys(e.Attributes) {
		attributes = append(attributes, attribute)
	}
	return join{
		one: countOf(e.count(schema, "$1", "$2", "$3", "$4", "$5", "$6::text::jsonb")),
		many: countOf(`SELECT found.effects, found.matching
  FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
       WITH ORDINALITY AS c (id, source, account_id, fact_type, fact_key, attributes, n)
 CROSS JOIN LATERAL (` + e.count(schema, "c.id", "c.source", "c.account_id", "c.fact_type", "c.fact_key", "c.attributes::jsonb") + `) AS found
 ORDER BY c.n`),
		attributes: attributes,
	}
}

// count returns the statement about one fact, given as an event tells it by SQL expressions.
func (e Effect) count(schema, id, source, account, factType, key, attributes string) string {
	quote := func(name string) string { return pgx.Identifier{name}.Sanitize() }
	column := e.Column
	if column == "" {
		column = EffectColumn
	}
	same := []string{"f.source = " + source, "f.account_id = " + account, "f.fact_type = " + factType, "f.fact_key = " + key, "f.attributes = " + attributes}
	if e.Account != "" {
		same = append(same, "e."+quote(e.Account)+"::text = f.account_id")
	}
	for i, attribute := range sortedKeys(e.Attributes) {
		same = append(same, fmt.Sprintf("e.%s::text IS NOT DISTINCT FROM f.attributes ->> $%d::text", quote(e.Attributes[attribute]), 7+i))
	}
	return fmt.Sprintf("SELECT count(*) AS effects, count(*) FILTER (WHERE %s) AS matching FROM %s.consumer_fact AS f JOIN %s AS e ON e.%s = f.id WHERE f.id = %s",
		strings.Join(same, " AND "), schema, pgx.Identifier(strings.Split(e.Table, ".")).Sanitize(), quote(column), id)
}

// proofs looks for the effects of facts. The default is questions, which somebody sends; the service's own reads by itself.
type proofs struct {
	own    Proof
	byType map[string]join
}

// join is the statement that proves a type of fact. The one for several says the same: the database plans
// it anew each time, because it sees how long the arrays are, and that costs more than to run it for one.
type join struct {
	one, many  count
	attributes []any
}

// count is a statement that counts effects, a row for each fact.
type count struct {
	read  string // returns what it found
	guard string // fails unless each fact is proven
}

// countOf makes a guard of a count, as paused_guard.sql is one.
func countOf(sql string) count {
	return count{read: sql, guard: `SELECT ('holdfast: a fact is not proven, it has ' || p.effects || ' effects, ' || p.matching || ' of them as it was told: nothing was committed')::int
  FROM (` + sql + `) AS p
 WHERE (p.effects = 1 AND p.matching = 1) IS NOT TRUE`}
}

func newProofs(schema string, effects map[string]Effect, own Proof) proofs {
	p := proofs{own: own, byType: map[string]join{}}
	for factType, e := range effects {
		p.byType[factType] = e.join(schema)
	}
	return p
}

// ask reads with the service's own proof. found is filled in the order of the claims.
func (p proofs) ask(ctx context.Context, db Querier, claims []facts.Claimed, found []Evidence) error {
	for i, c := range claims {
		err := guard(func() (err error) {
			found[i], err = p.own(ctx, db, c)
			return err
		})
		if err != nil {
			return fmt.Errorf("prove fact %d: %w", c.ID, err)
		}
	}
	return nil
}

// question asks for the effects of the claims of one type.
type question struct {
	count
	args   []any
	places []int // of the claims
}

// questions are those about claims, one for each type of fact.
func (p proofs) questions(claims []facts.Claimed) ([]question, error) {
	var all []question
	var done []string
	for _, c := range claims {
		if slices.Contains(done, c.Type) {
			continue
		}
		done = append(done, c.Type)
		j, known := p.byType[c.Type]
		if !known {
			return nil, &ProofError{FactType: c.Type, Reason: "no effect is configured for this type of fact"}
		}
		all = append(all, j.question(c.Type, claims))
	}
	return all, nil
}

func (j join) question(factType string, claims []facts.Claimed) question {
	var ids []int64
	var sources, accounts, types, keys []string
	var attributes []string // JSON as text, which every protocol mode of pgx can send
	var places []int
	for i, c := range claims {
		if c.Type != factType {
			continue
		}
		places = append(places, i)
		ids, sources, accounts, types, keys = append(ids, c.ID), append(sources, c.Source), append(accounts, c.Account), append(types, c.Type), append(keys, c.Key.String())
		attributes = append(attributes, jsonText(c.Attributes))
	}
	q := question{count: j.many, args: []any{ids, sources, accounts, types, keys, attributes}, places: places}
	if len(places) == 1 {
		q.count, q.args = j.one, []any{ids[0], sources[0], accounts[0], types[0], keys[0], attributes[0]}
	}
	q.args = append(q.args, j.attributes...)
	return q
}

// queueRead has a batch fill in what it finds.
func (q question) queueRead(batch *pgx.Batch, found []Evidence) {
	batch.Queue(q.read, q.args...).Query(func(rows pgx.Rows) error {
		for n := 0; rows.Next(); n++ {
			if err := rows.Scan(&found[q.places[n]].Effects, &found[q.places[n]].Matching); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}

// queueGuard has a batch fail here unless all are proven.
func (q question) queueGuard(batch *pgx.Batch) { batch.Queue(q.guard, q.args...) }

// jsonText is a map of texts as JSON.
func jsonText[V any](values map[string]V) string {
	text, _ := json.Marshal(values) // of texts: it cannot fail
	return string(text)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
