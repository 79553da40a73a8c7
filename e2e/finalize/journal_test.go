package main

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
)

// journal is what the services log. Safe for concurrent use.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

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
