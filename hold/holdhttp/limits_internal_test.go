package holdhttp

import (
	"strconv"
	"testing"
)

// Who used up a rate stays limited, however many others come; who did not is forgotten, so that the names of many
// operators take no room for ever.
func TestLimitsRememberWhoIsLimited(t *testing.T) {
	t.Parallel()
	l := newLimits(1e-9, 2)
	for range 2 {
		if wait := l.take("spent"); wait != 0 {
			t.Fatalf("within the limit: %s", wait)
		}
	}
	for i := range 3 * maxLimits {
		l.of("new-" + strconv.Itoa(i)) // looked for, and nothing taken
	}
	if len(l.all) > maxLimits {
		t.Errorf("%d callers are remembered", len(l.all))
	}
	if wait := l.take("spent"); wait == 0 {
		t.Error("whoever was limited is forgotten")
	}
}
