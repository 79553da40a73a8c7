package retry

import (
	"errors"
	"math"
	"testing"
	"time"
)

// TestClassify: what an outcome means follows from the policy, the attempts so far and the outcome alone.
func TestClassify(t *testing.T) {
	t.Parallel()
	some := Policy{MaxRetries: 2, Initial: 250 * time.Millisecond, Max: time.Second}
	none := Policy{MaxRetries: 0, Initial: time.Millisecond, Max: time.Millisecond}
	reason := Reason{Code: Rejected, Detail: "x"}
	for _, c := range []struct {
		name     string
		policy   Policy
		attempts int32
		outcome  Outcome
		want     decision
	}{
		{"accepted", some, 1, Accepted("S", 1), decision{kind: remove, attempts: 1}},
		{"skipped", some, 2, Skipped(), decision{kind: remove, attempts: 2}},
		{"first refusal", some, 0, Retryable(reason), decision{kind: retryLater, attempts: 1, backoff: 250 * time.Millisecond}},
		{"last retry", some, 1, Retryable(reason), decision{kind: retryLater, attempts: 2, backoff: 500 * time.Millisecond}},
		{"exhausted", some, 2, Retryable(reason), decision{kind: deadLetter, attempts: 3}},
		{"permanent", some, 0, Permanent(reason), decision{kind: deadLetter, attempts: 1}},
		{"no retries", none, 0, Retryable(reason), decision{kind: deadLetter, attempts: 1}},
	} {
		for range 2 { // the same question, the same answer
			if got, err := classify(c.policy, c.attempts, c.outcome); err != nil || got != c.want {
				t.Errorf("%s: %+v (%v), want %+v", c.name, got, err, c.want)
			}
		}
	}
	for name, refuse := range map[string]func() (decision, error){
		"a policy that is out of bounds": func() (decision, error) { return classify(Policy{MaxRetries: 1}, 1, Retryable(reason)) },
		"the end of counting":            func() (decision, error) { return classify(some, math.MaxInt32, Permanent(reason)) },
		"no outcome":                     func() (decision, error) { return classify(some, 1, Outcome{}) },
	} {
		var invalid *InvalidError
		if got, err := refuse(); !errors.As(err, &invalid) || got != (decision{}) {
			t.Errorf("%s: %+v, %v, want an *InvalidError", name, got, err)
		}
	}
}
