package hold_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// Services in other languages call the functions themselves, and are refused with the
// field and a hint, never by a constraint.
func TestSQLFunctionsNameTheBadArgument(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	const begin = `SELECT outbox.receipt_begin($1, 1, 'a', 'k', repeat('00', 32), stable_id => `
	for statement, field := range map[string]string{
		`SELECT outbox.hold_register(NULL, 1, $1)`:                                       "operation",
		`SELECT outbox.hold_register('x' || $1, 1, 'me')`:                                "operation",
		`SELECT outbox.hold_register($1, 0, 'me')`:                                       "generation",
		`SELECT outbox.hold_register($1, NULL, 'me')`:                                    "generation",
		`SELECT outbox.hold_register($1, 1, repeat('x', 256))`:                           "actor",
		`SELECT outbox.hold_register($1, 1, 'me', expires_at => 'tomorrow')`:             "expires_at",
		`SELECT outbox.hold_register($1, 1, 'me', expires_at => '2026-13-01T00:00:00Z')`: "expires_at",
		`SELECT outbox.hold_register($1, 1, 'me', on_expiry => 'release')`:               "on_expiry",
		`SELECT outbox.hold_release(NULL, 1, $1)`:                                        "operation",
		`SELECT outbox.hold_release($1, 1, NULL)`:                                        "actor",
		`SELECT outbox.hold_release($1, 1, 'me', reason => repeat('x', 1025))`:           "reason",
		`SELECT outbox.hold_cancel(NULL, 1, $1)`:                                         "operation",
		`SELECT outbox.hold_cancel($1, -1, 'me')`:                                        "generation",
		`SELECT outbox.hold_cancel($1, 1, 'me', reason => repeat('x', 1025))`:            "reason",
		`SELECT outbox.hold_cancel($1, 1, 'me', action => 'prune')`:                      "action",
		`SELECT outbox.hold_list($1, 'open')`:                                            "only_state",
		`SELECT outbox.hold_drop_event($1, 1, 'e', 'me', '')`:                            "reason",
		`SELECT outbox.hold_drop_event($1, 1, '', 'me', 'why')`:                          "event_id",
		`SELECT outbox.compensation_end($1, 1, 'a', 'me', 'gone')`:                       "outcome",
		`SELECT outbox.compensation_end($1, 1, 'a', 'me', 'quarantined')`:                "reason",
		`SELECT outbox.hold_prune('me', NULL) WHERE $1 <> ''`:                            "retention",
		`SELECT outbox.hold_prune('', '1 d') WHERE $1 <> ''`:                             "actor",
		`SELECT outbox.publish_held(NULL, 1, '/s', $1)`:                                  "operation",
		`SELECT outbox.receipt_begin(NULL, 1, 'a', $1, repeat('00', 32))`:                "operation",
		begin + `'')`:               "stable_id",
		begin + `repeat('x', 256))`: "stable_id",
		`SELECT outbox.receipt_complete($1, 1, 'a', '')`: "stable_id",
	} {
		_, err := b.Pool.Exec(t.Context(), statement, b.hold.Operation.String())
		var pgErr *pgconn.PgError
		if !errors.As(err, &pgErr) || pgErr.Code != "HF002" || pgErr.Detail != "field="+field || pgErr.Hint == "" {
			t.Errorf("%s: error is %+v, want HF002 about %s with a hint", statement, err, field)
		}
	}
}
