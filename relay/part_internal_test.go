package relay

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// TestPartEndsOnlyWhenItIsAskedTo: whatever else ends a part is an error that names it.
func TestPartEndsOnlyWhenItIsAskedTo(t *testing.T) {
	t.Parallel()
	running := context.Background()
	stopped, stop := context.WithCancel(running)
	stop()
	cause := errors.New("a cause")
	for _, c := range []struct {
		name string
		ctx  context.Context
		run  func() error
		want error // nil: it ended as it was asked to
	}{
		{"asked to", stopped, func() error { return nil }, nil},
		{"by itself", running, func() error { return nil }, errEnded},
		{"with an error", running, func() error { return cause }, cause},
		{"with an error in the stop", stopped, func() error { return cause }, cause},
		{"with a panic", running, func() error { panic(cause) }, cause},
		{"with a panic in the stop", stopped, func() error { panic(cause) }, cause},
	} {
		err := part(c.ctx, "name", c.run)
		var died *PartError
		switch {
		case c.want == nil && err == nil:
		case !errors.As(err, &died) || died.Part != "name" || !errors.Is(err, c.want):
			t.Errorf("%s: %v, want a *PartError with %v", c.name, err, c.want)
		case strings.Contains(c.name, "panic") != strings.Contains(died.Stack, "TestPartEndsOnly"):
			t.Errorf("%s: the stack is %q", c.name, died.Stack)
		}
	}
}
