package rebase

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/outbox"
)

// Plan is what a rebase will do, or did.
type Plan struct {
	Schema string
	// Needed says that the stored transaction ids are not of the cluster that serves the
	// database: its identity is another one, or there are ids that it has not given out yet.
	Needed bool
	// Stored and Actual are the system identifiers: that of the component outbox, and that
	// of the cluster.
	Stored, Actual int64

	Groups []Group // by name
	Held   int64   // events without a position; they stay as they are

	// StagedHere are the events that old snapshots would take for drained, and that were
	// staged in this cluster: they will be drained. Of Uncertain ones among them that is
	// not sure, and they may be published a second time.
	StagedHere, Uncertain int64
	// Oldest and Newest are when the first and the last event was staged that a group will
	// drain; zero when there is none.
	Oldest, Newest time.Time

	// Issued is the last number of the sequence, and Highest the highest that is in use. When
	// the sequence is behind, it is moved forward, and Renumbered events that were staged
	// here get numbers above Highest.
	Issued, Highest, Renumbered int64

	// Live are the leases that forbid a rebase.
	Live []Lease

	snapshot snapshot
	sets     []set
}

// Group is a relay group.
type Group struct {
	Name               string
	Drained, Undrained int64
	Lanes              []Lane // by number
}

// Lane is a lane of one group.
type Lane struct {
	Lane                     int16
	Drained, Undrained, Held int64
	Paging                   bool // a backlog was being paged
}

// Lease is a lane that a relay may own.
type Lease struct {
	Group string
	Lane  int16
	Owner string
	Until time.Time // by the clock of the database
}

// set are the events of one lane that are drained for the same groups.
type set struct {
	lane           int16
	groups         []string
	name           string // the groups as one text, as the database writes the array
	events         int64
	kept, unsure   int64
	here           int64
	oldest, newest time.Time
}

// DB is the database: a pool or a connection of pgx.
type DB interface {
	outbox.Querier
	BeginTx(ctx context.Context, options pgx.TxOptions) (pgx.Tx, error)
}

// Config are the settings of a rebase. The zero value of a field means its default.
type Config struct {
	// Schema is the database schema. Defaults to "outbox".
	Schema string
	// LockTimeout is how long to wait for transactions that stage events. Those that come
	// later wait behind it. Defaults to 5 s.
	LockTimeout time.Duration
}

func (c Config) withDefaults() Config {
	if c.Schema == "" {
		c.Schema = "outbox"
	}
	if c.LockTimeout == 0 {
		c.LockTimeout = 5 * time.Second
	}
	return c
}

// MakePlan says what [Apply] would do. It changes nothing, and while services stage events the
// numbers of their own grow. The error of a database whose schema is not the one that this
// build knows is an [*outbox.SchemaError]. It reads the whole log once.
func MakePlan(ctx context.Context, db DB, cfg Config) (*Plan, error) {
	cfg = cfg.withDefaults()
	var plan *Plan
	err := pgx.BeginTxFunc(ctx, db, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) (err error) {
		plan, err = read(ctx, tx, cfg.Schema)
		return err
	})
	if err != nil {
		return nil, withHint(fmt.Errorf("plan the rebase: %w", err))
	}
	return plan, nil
}

// checked reads the schema, and returns an error for everything that is wrong with it but
// the cluster.
func checked(ctx context.Context, db outbox.Querier, schema string) (outbox.Schema, error) {
	found, err := outbox.ReadSchema(ctx, db, schema)
	if err != nil {
		return found, err
	}
	here := found
	here.Components = slices.Clone(found.Components)
	for i := range here.Components {
		here.Components[i].Identity = found.Identity
	}
	return found, here.Check("outbox", "relay")
}

// read makes the plan from one snapshot of the database.
func read(ctx context.Context, tx pgx.Tx, schema string) (*Plan, error) {
	found, err := checked(ctx, tx, schema)
	if err != nil {
		return nil, err
	}
	sql := statements(found.Name)
	plan := &Plan{Schema: found.Name, Actual: found.Identity, Stored: found.Identity}
	for _, c := range found.Components {
		if c.Identity != found.Identity {
			plan.Needed, plan.Stored = true, c.Identity
		}
	}
	var text string
	var future bool
	if err := tx.QueryRow(ctx, sql["present"]).Scan(&text, &future, &plan.Issued, &plan.Highest); err != nil {
		return nil, fmt.Errorf("read the present: %w", err)
	}
	plan.Needed = plan.Needed || future
	if plan.snapshot, err = parseSnapshot(text); err != nil {
		return nil, err
	}
	if err := plan.readLanes(ctx, tx, sql); err != nil {
		return nil, fmt.Errorf("read the lanes: %w", err)
	}
	if !plan.Needed {
		return plan, nil
	}
	if err := plan.readLog(ctx, tx, sql); err != nil {
		return nil, fmt.Errorf("judge the log: %w", err)
	}
	return plan, nil
}

func (p *Plan) readLanes(ctx context.Context, tx pgx.Tx, sql map[string]string) error {
	rows, err := tx.Query(ctx, sql["lanes"])
	if err != nil {
		return err
	}
	var group, owner string
	var lane Lane
	var until *time.Time
	var live bool
	_, err = pgx.ForEachRow(rows, []any{&group, &lane.Lane, &lane.Paging, &owner, &until, &live}, func() error {
		if n := len(p.Groups); n == 0 || p.Groups[n-1].Name != group {
			p.Groups = append(p.Groups, Group{Name: group})
		}
		g := &p.Groups[len(p.Groups)-1]
		g.Lanes = append(g.Lanes, lane)
		if live {
			p.Live = append(p.Live, Lease{Group: group, Lane: lane.Lane, Owner: owner, Until: *until})
		}
		return nil
	})
	return err
}

func (p *Plan) readLog(ctx context.Context, tx pgx.Tx, sql map[string]string) error {
	rows, err := tx.Query(ctx, sql["count"])
	if err != nil {
		return err
	}
	p.sets, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (s set, err error) {
		err = row.Scan(&s.lane, &s.groups, &s.name, &s.events, &s.kept, &s.unsure, &s.here, &s.oldest, &s.newest)
		return s, err
	})
	if err != nil {
		return err
	}
	held := map[int16]int64{}
	if rows, err = tx.Query(ctx, sql["held"]); err != nil {
		return err
	}
	var lane int16
	var events int64
	if _, err = pgx.ForEachRow(rows, []any{&lane, &events}, func() error { held[lane] = events; return nil }); err != nil {
		return err
	}
	p.sum(held)
	return nil
}

// sum fills in the numbers of groups and lanes.
func (p *Plan) sum(held map[int16]int64) {
	for _, n := range held {
		p.Held += n
	}
	for i := range p.Groups {
		g := &p.Groups[i]
		for j := range g.Lanes {
			l := &g.Lanes[j]
			l.Held = held[l.Lane]
			for _, s := range p.sets {
				switch {
				case s.lane != l.Lane:
				case slices.Contains(s.groups, g.Name):
					l.Drained += s.events
				default:
					l.Undrained += s.events
					p.Oldest, p.Newest = earliest(p.Oldest, s.oldest), latest(p.Newest, s.newest)
				}
			}
			g.Drained += l.Drained
			g.Undrained += l.Undrained
		}
	}
	for _, s := range p.sets {
		p.StagedHere += s.kept
		p.Uncertain += s.unsure
		if p.Issued < p.Highest {
			p.Renumbered += s.here
		}
	}
}

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
