package saga_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/hold/saga"
)

// TestTableTakesOnlySoundOperations: whoever writes it, and with whatever.
func TestTableTakesOnlySoundOperations(t *testing.T) {
	t.Parallel()
	b := setupAlone(t, saga.Settings{})
	id := b.draft()
	b.win(b.request(id))
	for set, constraint := range map[string]string{
		`lease_holder = NULL, lease_expires_at = NULL`:                      "saga_operation_held",
		`lease_expires_at = NULL`:                                           "saga_operation_lease",
		`state = 'completed', lease_holder = NULL, lease_expires_at = NULL`: "saga_operation_result",
		`state = 'completed', result = '{}'`:                                "saga_operation_let_go",
		`state = 'aborted'`:                                                 "saga_operation_let_go",
		`state = 'stuck'`:                                                   "saga_operation_let_go",
		`result = '{}'`:                                                     "saga_operation_result",
		`events_released = true`:                                            "saga_operation_released",
		`state = 'running', lease_holder = NULL, lease_expires_at = NULL`:   "saga_operation_state_check",
		`generation = 0`:                                                    "saga_operation_generation_check",
		`attempts = -1`:                                                     "saga_operation_attempts_check",
		`request_digest = 'short'`:                                          "saga_operation_request_digest_check",
		`participants = '{}'`:                                               "saga_operation_participants_check",
		`participants = '{people,NULL}'`:                                    "saga_operation_participants_check",
		`digest_key_id = ''`:                                                "saga_operation_digest_key_id_check",
	} {
		_, err := b.Pool.Exec(t.Context(), `UPDATE outbox.saga_operation SET `+set)
		var refused *pgconn.PgError
		if !errors.As(err, &refused) || refused.Code != "23514" || refused.ConstraintName != constraint {
			t.Errorf("%s: %v, want %s", set, err, constraint)
		}
	}
	for _, key := range []string{"", "A", "a:", "a:01", "a:-1", "a:1:2", "0a", "a b"} {
		if _, err := b.Pool.Exec(t.Context(), `INSERT INTO outbox.saga_step VALUES ($1, DEFAULT, 1, $2, 'k', 'r')`, id, key); err == nil {
			t.Errorf("step key %q was taken", key)
		}
	}
}

// TestTimesAreOfTheWallClock: and not of the beginning of a transaction, which may be long ago.
func TestTimesAreOfTheWallClock(t *testing.T) {
	t.Parallel()
	b := setupAlone(t, saga.Settings{})
	id := b.draft()
	b.win(b.request(id))
	err := pgx.BeginFunc(t.Context(), b.Pool, func(tx pgx.Tx) error {
		var late bool
		for _, sql := range []string{
			`INSERT INTO outbox.saga_step VALUES ($1, DEFAULT, 1, 'a', 'a', 'a') RETURNING recorded_at > now()`,
			`UPDATE outbox.saga_operation SET created_at = DEFAULT, updated_at = DEFAULT WHERE operation_id = $1 RETURNING least(created_at, updated_at) > now()`,
			`INSERT INTO outbox.hold_operation (operation_id) VALUES ($1) RETURNING created_at > now()`,
			`INSERT INTO outbox.hold_generation (operation_id, generation, principal) VALUES ($1, 1, 'p') RETURNING registered_at > now()`,
		} {
			if err := tx.QueryRow(t.Context(), sql, id).Scan(&late); err != nil || !late {
				t.Errorf("%s: %v, %v", sql, late, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
