package retry_test

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/relay/retry"
)

func TestBackoffDoublesUpToItsCap(t *testing.T) {
	t.Parallel()
	p := retry.Policy{MaxRetries: 3, Initial: 250 * time.Millisecond, Max: time.Second}
	for attempt, want := range map[int32]time.Duration{1: 250 * time.Millisecond, 2: 500 * time.Millisecond, 3: time.Second, 4: time.Second, 1 << 30: time.Second} {
		if got := p.Backoff(attempt); got != want {
			t.Errorf("after %d attempts: %s, want %s", attempt, got, want)
		}
	}
}

func TestPolicyIsValidated(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]retry.Policy{
		"no initial":       {MaxRetries: 1, Max: time.Second},
		"negative retries": {MaxRetries: -1, Initial: time.Second, Max: time.Second},
		"max below":        {MaxRetries: 1, Initial: time.Second, Max: time.Millisecond},
		"not whole":        {MaxRetries: 1, Initial: 1500 * time.Microsecond, Max: time.Second},
		"max too long":     {MaxRetries: 1, Initial: time.Second, Max: 8 * 24 * time.Hour},
	} {
		var invalid *retry.InvalidError
		if _, err := retry.New(nil, retry.Config{Policy: p}); !errors.As(err, &invalid) {
			t.Errorf("%s: %v, want an *InvalidError", name, err)
		}
	}
}
