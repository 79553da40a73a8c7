package check_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/relay/check"
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
		if got := check.Captures(c.a, c.b); got != c.captures {
			t.Errorf("%s captures %s: %v", c.a, c.b, got)
		}
		if x, y := check.Overlaps(c.a, c.b), check.Overlaps(c.b, c.a); x != c.overlaps || y != c.overlaps {
			t.Errorf("%s overlaps %s: %v and %v", c.a, c.b, x, y)
		}
	}
}

func TestAddressesAreShownWithoutLogins(t *testing.T) {
	t.Parallel()
	for servers, want := range map[string]string{
		"nats://u:hunter2@a:4222, tls://hunter2@b": "nats://a:4222,tls://b",
		"nats://a:4222":           "nats://a:4222",
		"u:hunter2@a":             "the configured servers",
		"nats://u:hunter2/x@a:42": "the configured servers",
	} {
		if got := check.Redacted(servers); got != want {
			t.Errorf("%s is shown as %s, want %s", servers, got, want)
		}
	}
}
