package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// backgroundPause is the pause between two orders while people look around.
const backgroundPause = 200 * time.Millisecond

// keepServing lets a few customers order until ctx ends.
func (d *demo) keepServing(ctx context.Context, f *fleet) error {
	d.screen.say("%s", guide(f))
	customers := &traffic{db: f.db, seed: d.seed, tally: &d.tally}
	parent := os.Getppid()
	ticker := time.NewTicker(backgroundPause)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			d.screen.say("demo: stopping")
			return nil
		case <-ticker.C:
			if os.Getppid() != parent { // `go run` and make end on SIGTERM without passing it on
				return nil
			}
			if err := f.check(); err != nil {
				return err
			}
			n := d.tally.orders.Add(1)
			if err := customers.order(ctx, n); err != nil && !errors.Is(err, context.Canceled) {
				return fmt.Errorf("order %d: %w", n, err)
			}
		}
	}
}

// guide says how to look at what runs.
func guide(f *fleet) string {
	var b strings.Builder
	psql := fmt.Sprintf("%s '%s'", filepath.Join(f.pg.BinDir(), "psql"), f.pg.URL(database))
	fmt.Fprintf(&b, `
Everything keeps running, with about %d orders a second, until ctrl-C.

The database:
  %s
  %[2]s -c 'select state, count(*) from orders.orders group by state'
  %[2]s -c 'select state, count(*), sum(released_count), sum(dropped_count) from outbox.hold_generation group by state'
  %[2]s -c 'select lane, lease_owner, lease_until from outbox.outbox_lane order by lane'

Release a checkout that nobody decided:
  %[2]s -c "select r.* from (select * from outbox.hold_generation where state = 'active' limit 1) h, outbox.hold_release(h.operation_id::text, h.generation, 'me') r"

The relays' commands:
`, time.Second/backgroundPause, psql)
	for _, variable := range f.relayVariables() {
		name, value, _ := strings.Cut(variable, "=")
		fmt.Fprintf(&b, "  export %s='%s'\n", name, value)
	}
	fmt.Fprintf(&b, "  %s status\n\nThe relays:\n", f.relay)
	for _, p := range f.pods {
		if p.Running() {
			fmt.Fprintf(&b, "  %s  pid %d  log %s\n", p.name, p.PID(), p.log)
			fmt.Fprintf(&b, "    curl http://%s/readyz; curl http://%[1]s/livez; curl http://%[1]s/metrics\n", p.address())
		}
	}
	fmt.Fprintf(&b, "\nThe stream %s is at %s; with the nats command line:\n  nats -s %[2]s sub 'events.>'\n", stream, f.nats.URL())
	return b.String()
}
