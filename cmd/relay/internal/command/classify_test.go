package command

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
)

// What the database says decides whether it helps to try again.
func TestStatusOfDatabaseErrors(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]exit.Code{
		"22021": exit.Usage, "22P02": exit.Usage, "42501": exit.Denied, "28P01": exit.Denied, "3D000": exit.Usage, "42P01": exit.Usage,
		"53300": exit.Unavailable, "55P03": exit.Unavailable, "57P01": exit.Unavailable, "XX000": exit.Unavailable,
	} {
		err := classify(t.Context(), fmt.Errorf("look: %w", &pgconn.PgError{Code: code}))
		var typed *exit.Error
		if !errors.As(err, &typed) || typed.Code != want || typed.Hint == "" {
			t.Errorf("SQLSTATE %s: %+v", code, typed)
		}
	}
}
