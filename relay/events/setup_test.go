package events_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/relay/events"
)

// setup is a database of a test's own and a reader over it.
type setup struct {
	t  *testing.T
	db *outboxtest.Database
	*events.Reader
}

func newSetup(t *testing.T) *setup {
	t.Helper()
	s := &setup{t: t, db: outboxtest.NewDatabase(t)}
	var err error
	if s.Reader, err = events.New(t.Context(), s.db.Pool, "outbox", "default"); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *setup) exec(sql string, args ...any) {
	s.t.Helper()
	outboxtest.Exec(s.t, s.db.Pool, sql, args...)
}

// stage commits events of one key, with the ids that are given.
func (s *setup) stage(key string, ids ...string) {
	s.t.Helper()
	for _, id := range ids {
		s.exec("SELECT outbox.publish_text('/test', 'test.happened', 'payload', id => $1, partitionkey => $2)", id, key)
	}
}

// find returns the one event with an id.
func (s *setup) find(id string) *events.Event {
	s.t.Helper()
	list, err := s.Find(s.t.Context(), id)
	if err != nil || len(list) != 1 {
		s.t.Fatalf("event %s: %+v and %v, want one", id, list, err)
	}
	return &list[0]
}

// states returns the ids and states of a list.
func (s *setup) states(f events.Filter) []string {
	s.t.Helper()
	list, err := s.List(s.t.Context(), f)
	if err != nil {
		s.t.Fatal(err)
	}
	var found []string
	for _, e := range list {
		found = append(found, e.ID+" "+string(e.State))
	}
	return found
}
