package registry

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Orphans names the households that the application flow made and no application owns: what an
// operation left behind before there were receipts. owned are the households of all applications. It
// tells ids and nothing else, and none that a receipt covers.
func (s *Service) Orphans(ctx context.Context, owned []uuid.UUID) ([]uuid.UUID, error) {
	rows, err := s.db.Query(ctx, orphansSQL, owned)
	if err != nil {
		return nil, fmt.Errorf("look for orphans: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
}
