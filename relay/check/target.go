package check

import (
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"

	"github.com/holdfast-dev/holdfast/relay"
)

// Target is what is checked. The engine makes connections of its own from it and closes them.
type Target struct {
	// Database says how a relay connects, as [relay.PoolConfig] returns it. Required.
	Database *pgxpool.Config
	// Servers and Login say where NATS is and how a relay logs in, as nats.Connect takes them.
	Servers string
	Login   []nats.Option
	// Relay are the settings of the relay; zero fields mean their defaults.
	Relay relay.Config
	// Keep is how long published events stay; 0 is what the schema says.
	Keep time.Duration
	// Allow names the checks that are overridden.
	Allow []string

	// Before says that nothing is installed yet: the checks of the schema and the stream are
	// not made.
	Before bool
	// MaxAge is how old a transaction, or a prepared one, may be. Defaults to 10 minutes.
	MaxAge time.Duration
	// MaxSkew is how far the clocks of this machine and of the database may be apart.
	// Defaults to 1 s.
	MaxSkew time.Duration

	// For tests: the clock of this machine, and the versions of Postgres that are supported.
	now            func() time.Time
	oldest, newest int
}

// The versions of Postgres that the schema is made and tested for.
const (
	oldestPostgres = 14
	newestPostgres = 18
)

func (t Target) withDefaults() Target {
	t.Relay = t.Relay.WithDefaults()
	if t.MaxAge == 0 {
		t.MaxAge = 10 * time.Minute
	}
	if t.MaxSkew == 0 {
		t.MaxSkew = time.Second
	}
	if t.now == nil {
		t.now = time.Now
	}
	if t.oldest == 0 {
		t.oldest, t.newest = oldestPostgres, newestPostgres
	}
	return t
}

// window is how long a stream must remember ids: as long as a late publication of a dead owner
// can take. Its lease, then an attempt that gets no answer, then the pause before the
// next one, and some room for slow machines.
func (t Target) window() time.Duration {
	const room = 5 * time.Second
	return t.Relay.Lease + t.Relay.AckTimeout + t.Relay.RetryMax + room
}
