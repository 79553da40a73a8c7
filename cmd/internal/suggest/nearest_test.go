package suggest_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/cmd/internal/suggest"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	commands := []string{"run", "status", "stream", "version", "config", "completion"}
	for word, want := range map[string]string{
		"statsu":  "status",
		"rnu":     "run",
		"stream":  "stream",
		"vers":    "version",
		"comp":    "completion",
		"dance":   "",
		"":        "",
		"configs": "config",
	} {
		if got := suggest.Nearest(word, commands); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
	long := []string{"RELAY_DATABASE_URL", "RELAY_NATS_URL", "RELAY_BATCH_SIZE"}
	if got := suggest.Nearest("RELAY_DATABSE_URL", long); got != "RELAY_DATABASE_URL" {
		t.Errorf("got %q", got)
	}
	if got := suggest.Nearest("RELAY_COLOUR", long); got != "" {
		t.Errorf("got %q for a word that is like none", got)
	}
}
