package facts

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
)

//go:embed sql/claim_all.sql
var claimAllSQL string

//go:embed sql/incumbents.sql
var incumbentsSQL string

// Telling is a fact as one of several events tells it.
type Telling struct {
	Tx   *Tx // of the event
	Fact Fact
}

// ClaimAll claims the facts of several events of one transaction as [Claim] does each, with two
// statements for all of them, and answers in their order. When two tell one fact, the first in the
// list is the one that is applied. Facts are claimed in one order by everybody, so that two calls
// wait for each other and never in a circle; claims one by one have no such order. Errors: those of
// [Claim]; nothing is claimed then.
func ClaimAll(ctx context.Context, tellings []Telling) ([]Claimed, error) {
	if len(tellings) == 0 {
		return nil, nil
	}
	claims := make([]Claimed, len(tellings))
	var sent columns
	first := map[identity]int{} // which telling claims an identity
	for i, t := range tellings {
		if err := t.Fact.validate(t.Tx.told); err != nil {
			return nil, err
		}
		claims[i] = Claimed{Fact: t.Fact, Outcome: Replayed}
		if claims[i].Attributes = maps.Clone(t.Fact.Attributes); claims[i].Attributes == nil {
			claims[i].Attributes = map[string]string{}
		}
		if _, twice := first[identityOf(t.Fact)]; !twice {
			first[identityOf(t.Fact)] = i
			sent.add(claims[i].Fact, t.Tx.told)
		}
	}
	if err := claimNew(ctx, tellings[0].Tx, &sent, claims, first); err != nil {
		return nil, err
	}
	known, err := recorded(ctx, tellings[0].Tx, claims, first)
	if err != nil {
		return nil, err
	}
	for i := range claims {
		winner := first[identityOf(claims[i].Fact)]
		if claims[i].ID = claims[winner].ID; i != winner || claims[i].Outcome != Applied {
			if difference := compare(known[winner], claims[i].Attributes); len(difference) > 0 {
				claims[i].Outcome, claims[i].Difference = Mismatch, difference
			}
		}
	}
	for i, t := range tellings {
		t.Tx.claims = append(t.Tx.claims, claims[i])
	}
	return claims, nil
}

// identity is what tells facts apart.
type identity struct{ source, account, factType, key string }

func identityOf(f Fact) identity { return identity{f.Source, f.Account, f.Type, f.Key.text} }

// columns are the arrays of a statement about several facts.
type columns struct {
	sources, accounts, types, keys, eventSources, eventIDs []string
	attributes                                             []string // JSON
}

func (c *columns) add(f Fact, told Told) {
	c.sources, c.accounts, c.types, c.keys = append(c.sources, f.Source), append(c.accounts, f.Account), append(c.types, f.Type), append(c.keys, f.Key.text)
	c.attributes = append(c.attributes, f.attributesText())
	c.eventSources, c.eventIDs = append(c.eventSources, told.Source), append(c.eventIDs, told.ID)
}

// claimNew inserts the facts that are new, and says so in their claims.
func claimNew(ctx context.Context, tx *Tx, sent *columns, claims []Claimed, first map[identity]int) error {
	rows, err := tx.Query(ctx, tx.in(claimAllSQL), sent.sources, sent.accounts, sent.types, sent.keys, sent.attributes, sent.eventSources, sent.eventIDs)
	if err != nil {
		return fmt.Errorf("claim facts: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var is identity
		if err := rows.Scan(&id, &is.source, &is.account, &is.factType, &is.key); err != nil {
			return fmt.Errorf("claim facts: %w", err)
		}
		claims[first[is]].ID, claims[first[is]].Outcome = id, Applied
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("claim facts: %w", err)
	}
	return nil
}

// recorded returns the attributes of each fact as they are recorded, by the telling that claimed it, and
// fills in the ids of those that were known before. It is a later statement than the claim: only that is
// sure to see the row of a winner.
func recorded(ctx context.Context, tx *Tx, claims []Claimed, first map[identity]int) (map[int]map[string]string, error) {
	known := make(map[int]map[string]string, len(first))
	var ask columns
	for _, i := range first {
		if claims[i].Outcome == Applied {
			known[i] = claims[i].Attributes
		} else {
			ask.add(claims[i].Fact, Told{})
		}
	}
	if len(ask.sources) == 0 {
		return known, nil
	}
	rows, err := tx.Query(ctx, tx.in(incumbentsSQL), ask.sources, ask.accounts, ask.types, ask.keys)
	if err != nil {
		return nil, fmt.Errorf("read facts: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var is identity
		var attributes map[string]string
		if err := rows.Scan(&id, &is.source, &is.account, &is.factType, &is.key, &attributes); err != nil {
			return nil, fmt.Errorf("read facts: %w", err)
		}
		claims[first[is]].ID, known[first[is]] = id, attributes
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read facts: %w", err)
	}
	if len(known) < len(first) {
		return nil, ErrVanished
	}
	return known, nil
}
