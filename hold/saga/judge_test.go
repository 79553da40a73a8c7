package saga_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/hold/saga"
	"github.com/holdfast-dev/holdfast/outbox"
)

// statusError is what an HTTP client might return.
type statusError int

func (e statusError) Error() string   { return http.StatusText(int(e)) }
func (e statusError) StatusCode() int { return int(e) }

// TestJudge: what each answer of a participant means.
func TestJudge(t *testing.T) {
	t.Parallel()
	for want, errs := range map[saga.Judgement][]error{
		saga.Done: {nil},
		saga.Refused: {outbox.ErrGenerationCancelled, outbox.ErrGenerationReleased, outbox.ErrGenerationUnknown, outbox.ErrGenerationSuperseded,
			&outbox.HoldRefusedError{State: outbox.StateCancelled}, statusError(409), statusError(410)},
		saga.Terminal: {&outbox.InvalidArgumentError{Argument: "generation"}, statusError(400), statusError(404), statusError(405), statusError(413), statusError(415), statusError(422)},
		saga.Retry: {errDied, context.DeadlineExceeded, saga.ErrUndoPending, statusError(401), statusError(403), statusError(408), statusError(425),
			statusError(429), statusError(500), statusError(502), statusError(503), statusError(504), statusError(200)},
	} {
		for _, err := range errs {
			if got := saga.Judge(err); got != want {
				t.Errorf("%v is %s, want %s", err, got, want)
			}
			if err == nil {
				continue
			}
			if got := saga.Judge(errors.Join(errDied, fmt.Errorf("wrapped: %w", err))); got != want {
				t.Errorf("%v wrapped is %s, want %s", err, got, want)
			}
		}
	}
}

// TestJudgeStatusProperty: each status has one meaning, and only success is done.
func TestJudgeStatusProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		status := rapid.IntRange(0, 999).Draw(t, "status")
		j := saga.JudgeStatus(status)
		if (j == saga.Done) != (status >= 200 && status <= 299) {
			t.Fatalf("%d is %s", status, j)
		}
		if j.Final() && (status < 400 || status > 499) {
			t.Fatalf("%d is %s: a fault of the server is not for ever", status, j)
		}
	})
}

// TestOutcomesHaveTheirStatus: what a client is told.
func TestOutcomesHaveTheirStatus(t *testing.T) {
	t.Parallel()
	for want, o := range map[int]saga.Outcome{0: saga.Won{}, 200: saga.Completed{}, 503: saga.InProgressElsewhere{}, 409: saga.DigestMismatch{}, 404: saga.SubjectGone{}} {
		if o.HTTPStatus() != want {
			t.Errorf("%s is %d, want %d", o.Name(), o.HTTPStatus(), want)
		}
	}
	if got := (saga.NeedsOperator{}).HTTPStatus(); got != 503 {
		t.Errorf("needs_operator is %d", got)
	}
	for after, want := range map[time.Duration]int{1: 1, time.Second: 1, time.Second + 1: 2, time.Minute: 60} {
		if got := (saga.InProgressElsewhere{RetryAfter: after}).RetryAfterSeconds(); got != want {
			t.Errorf("retry after %s is %d, want %d", after, got, want)
		}
	}
}
