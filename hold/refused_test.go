package hold_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/outbox"
)

// wantRefused checks that err is a refusal, of that kind, which says for whom and
// with which state.
func wantRefused(t testing.TB, err, target error, h outbox.Hold, state string) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("error is %v, want %v", err, target)
	}
	var refused *outbox.HoldRefusedError
	if !errors.As(err, &refused) {
		t.Fatalf("error %T is not a *outbox.HoldRefusedError", err)
	}
	if refused.Operation != h.Operation || refused.Generation != h.Generation || string(refused.State) != state {
		t.Errorf("refused operation %v generation %d state %q, want %v state %q", refused.Operation, refused.Generation, refused.State, h, state)
	}
	if outbox.Retryable(err) {
		t.Errorf("%v is retryable; a refusal is final", err)
	}
}

// wantArgument checks that err refuses an argument, and which one.
func wantArgument(t testing.TB, err error, argument string) {
	t.Helper()
	var invalid *outbox.InvalidArgumentError
	if !errors.As(err, &invalid) {
		t.Fatalf("error is %v, want a *outbox.InvalidArgumentError about %s", err, argument)
	}
	if invalid.Argument != argument || invalid.Problem == "" || outbox.Hint(err) == "" {
		t.Errorf("error is about %q: %q, with hint %q; want %q and a hint", invalid.Argument, invalid.Problem, outbox.Hint(err), argument)
	}
}

// wantSQLState checks the code that the database gave.
func wantSQLState(t testing.TB, err error, code string) {
	t.Helper()
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) || pgErr.Code != code {
		t.Fatalf("error is %v, want SQLSTATE %s", err, code)
	}
}

// refusalCodes are the codes that the database gives for a refusal, by its state.
var refusalCodes = map[string]string{
	"": "", outbox.StateUnknown: "HF010", outbox.StateCancelled: "HF011",
	outbox.StateReleased: "HF012", outbox.StateSuperseded: "HF013",
}

// refusalCode returns the code of a refusal, "" without an error, and the text of an
// error that is something else.
func refusalCode(err error) string {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return pgErr.Code
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// refusalState returns the state of a refusal, "" without an error, and the text of an
// error that is something else.
func refusalState(err error) string {
	var refused *outbox.HoldRefusedError
	if errors.As(err, &refused) {
		return refused.State
	}
	if err != nil {
		return err.Error()
	}
	return ""
}
