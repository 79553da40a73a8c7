package main

import (
	"log/slog"
	"strings"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// journal is what the services log.
type journal struct{ outboxtest.Log }

func (j *journal) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(j, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// wantNoSecrets looks for personal data and credentials where none may be: in the logs, and in what
// the coordinator keeps of an operation.
func (s *stack) wantNoSecrets() {
	for _, secret := range []string{"SECRET", token, digestKey} {
		if strings.Contains(s.log.String(), secret) {
			s.t.Errorf("the log has %s:\n%s", secret, s.log)
		}
	}
}
