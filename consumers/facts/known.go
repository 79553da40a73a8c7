package facts

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/jackc/pgx/v5"
)

// Known finds a fact that was claimed before, and claims nothing. It compares the identity, and
// those attributes that are given: when one differs, false is returned, because only a claim
// may judge. Otherwise the fact counts among the claims of the transaction, with the attributes
// that are recorded. It waits for nobody. Errors: [*FactError], and those of the database.
func Known(ctx context.Context, tx *Tx, fact Fact) (Claimed, bool, error) {
	if err := fact.validate(tx.told); err != nil {
		return Claimed{}, false, err
	}
	claimed := Claimed{Outcome: Replayed}
	var recorded map[string]string
	err := tx.row(ctx, incumbentSQL, fact.Source, fact.Account, fact.Type, fact.Key.text).Scan(&claimed.ID, &recorded)
	if errors.Is(err, pgx.ErrNoRows) {
		return Claimed{}, false, nil
	}
	if err != nil {
		return Claimed{}, false, fmt.Errorf("find fact: %w", err)
	}
	merged := maps.Clone(recorded)
	maps.Copy(merged, fact.Attributes)
	if !maps.Equal(merged, recorded) {
		return Claimed{}, false, nil
	}
	claimed.Fact = fact
	claimed.Attributes = recorded
	tx.claims = append(tx.claims, claimed)
	return claimed, true, nil
}
