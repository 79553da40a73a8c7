package check

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// clock is how far the clock of the database is ahead of ours, give or take half a round trip.
type clock struct{ ahead, trip time.Duration }

// clockSamples is how often the clock is asked; the fastest answer counts.
const clockSamples = 3

func (d *database) readClock(ctx context.Context, conn *pgxpool.Conn, t Target) error {
	for i := range clockSamples {
		var theirs time.Time
		before, began := t.now(), time.Now()
		if err := one(ctx, conn, &theirs, pgx.RowTo[time.Time], statement("clock", "")); err != nil {
			return d.answered("clock", err)
		}
		trip := time.Since(began)
		if c := (clock{ahead: theirs.Sub(before.Add(trip / 2)), trip: trip}); i == 0 || c.trip < d.clock.trip {
			d.clock = c
		}
	}
	return nil
}

// clockFinding takes the whole round trip for what the answer may be wrong by.
func clockFinding(f *facts) Finding {
	c := f.db.clock
	apart, word := c.ahead, "ahead of"
	if apart < 0 {
		apart, word = -apart, "behind"
	}
	if apart-c.trip/2 > f.t.MaxSkew {
		return warn("synchronise both clocks (NTP): leases go by the database's clock and do not suffer, logs and ages do",
			"the clock of the database is %s %s that of this machine", apart.Round(10*time.Millisecond), word)
	}
	return ok("the clocks agree, to within %s", max(apart, c.trip/2, time.Millisecond).Round(time.Millisecond))
}
