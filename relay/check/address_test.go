package check_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/relay/check"
)

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
