package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// pollEvery is the pause between two looks at a condition.
const pollEvery = 50 * time.Millisecond

// errNotInTime is what until returns when its limit is over.
var errNotInTime = errors.New("not in time")

// until looks at a condition until it holds. The error says what did not happen in time.
func until(ctx context.Context, limit time.Duration, what string, condition func(ctx context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w, after %s", errNotInTime, limit))
	defer cancel()
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		done, err := condition(ctx)
		if err == nil && done {
			return nil
		}
		select {
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-ticker.C:
		}
		if err != nil {
			return fmt.Errorf("wait until %s: %w", what, err)
		}
	}
}
