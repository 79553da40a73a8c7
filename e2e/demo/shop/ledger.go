package shop

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/e2e/demo/check"
)

var (
	//go:embed schema.sql
	schemaSQL string
	//go:embed sql/ledger.sql
	ledgerSQL string
)

// Install makes the tables of the shop.
func Install(ctx context.Context, db *pgxpool.Conn) error {
	if _, err := db.Exec(ctx, schemaSQL); err != nil {
		return fmt.Errorf("install the shop: %w", err)
	}
	return nil
}

// Ledger returns every event that the services committed, and what the checkout decided
// about it.
func Ledger(ctx context.Context, db *pgxpool.Pool) ([]check.Entry, error) {
	rows, err := db.Query(ctx, ledgerSQL)
	if err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	entries, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (check.Entry, error) {
		var e check.Entry
		var digest []byte
		if err := row.Scan(&e.ID, &e.Source, &e.Type, &e.Key, &e.Version, &digest, &e.Fate); err != nil {
			return e, err
		}
		copy(e.Digest[:], digest)
		return e, nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	return entries, nil
}
