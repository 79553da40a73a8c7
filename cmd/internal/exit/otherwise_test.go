package exit_test

import (
	"errors"
	"testing"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
)

// TestOtherwise: an error without a status gets one, and others keep theirs.
func TestOtherwise(t *testing.T) {
	t.Parallel()
	plain := errors.New("unreadable")
	for name, c := range map[string]struct {
		err  error
		want exit.Code
	}{
		"nothing":       {nil, exit.OK},
		"without one":   {plain, exit.Usage},
		"with its own":  {exit.Errorf(exit.Denied, "no"), exit.Denied},
		"a silent one":  {exit.Answer(exit.No), exit.No},
		"one beside it": {errors.Join(plain, exit.Errorf(exit.Partial, "half")), exit.Partial},
	} {
		if got := exit.Of(exit.Otherwise(exit.Usage, c.err)); got != c.want {
			t.Errorf("%s: status %d, want %d", name, got, c.want)
		}
	}
	if err := exit.Otherwise(exit.Usage, plain); !errors.Is(err, plain) || exit.HintOf(err) != "" {
		t.Errorf("got %v with hint %q", err, exit.HintOf(err))
	}
}
