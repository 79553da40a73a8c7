package relay

import "testing"

func TestTakes(t *testing.T) {
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
		if got := takes([]string{"other.>", c.pattern}, c.subject); got != c.want {
			t.Errorf("%s takes %s: %t, want %t", c.pattern, c.subject, got, c.want)
		}
	}
}
