package subject_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/relay/internal/subject"
)

func TestSubjects(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b               string
		captures, overlaps bool
	}{
		{"events.>", "events.>", true, true},
		{"events.>", "events.order.*", true, true},
		{"events.order.>", "events.>", false, true},
		{"events.*", "events.>", false, true},
		{"events.*", "events.order", true, true},
		{"events.order", "events.*", false, true},
		{"events.*.a", "events.b.*", false, true},
		{"events", "events.>", false, false},
		{"events.>", "events", false, false},
		{"orders.>", "events.>", false, false},
		{"*.order", "events.*", false, true},
		{">", "events.>", true, true},
		{"a.b", "a.b.c", false, false},
	} {
		if got := subject.Captures(c.a, c.b); got != c.captures {
			t.Errorf("%s captures %s: %v", c.a, c.b, got)
		}
		if x, y := subject.Overlaps(c.a, c.b), subject.Overlaps(c.b, c.a); x != c.overlaps || y != c.overlaps {
			t.Errorf("%s overlaps %s: %v and %v", c.a, c.b, x, y)
		}
	}
}

func TestCaptured(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, subject string
		want             bool
	}{
		{"events.>", "events.a", true},
		{"events.>", "events.a.b", true},
		{"events.>", "events", false},
		{"events.*", "events.a", true},
		{"events.*", "events.a.b", false},
		{"events.*.b", "events.a.b", true},
		{"events.*.b", "events.a.c", false},
		{"events.a", "events.a", true},
		{"events.a", "events.ab", false},
		{"events.a.b", "events.a", false},
		{">", "events.a", true},
	} {
		if got := subject.Captured([]string{"other.>", c.pattern}, c.subject); got != c.want {
			t.Errorf("%s captures %s: %t, want %t", c.pattern, c.subject, got, c.want)
		}
	}
}
