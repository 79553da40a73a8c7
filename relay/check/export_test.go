package check

import (
	"time"

	"github.com/holdfast-dev/holdfast/relay"
)

// WithClock gives a target another clock of this machine.
func (t Target) WithClock(now func() time.Time) Target { t.now = now; return t }

// WithVersions makes a target support other versions of Postgres.
func (t Target) WithVersions(oldest, newest int) Target {
	t.oldest, t.newest = oldest, newest
	return t
}

// Wanted returns the rights that the engine wants, by table.
func Wanted() map[string][]string {
	all := map[string][]string{}
	for _, r := range rights {
		if r.Wanted {
			all[r.Relation] = append(all[r.Relation], r.Privilege)
		}
	}
	return all
}

// Largest is largest.
func Largest(cfg relay.Config, data int) (int64, error) { return largest(cfg, data) }

var (
	Redacted  = redacted
	Statement = statement
)
