package saga

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/internal/call"
	"github.com/holdfast-dev/holdfast/outbox"
)

// Participants are the services of a kind of operation, by name.
type Participants map[string]Participant

// Options are choices of a [Coordinator]. The zero value is useful.
type Options struct {
	// Name is who reconciles, in the audit: 1 to 255 bytes. Defaults to "reconciler".
	Name string
	// Most is how many operations one tick compensates, and how many it releases. Defaults to 1000.
	Most int
	// LeasePool renews leases. Give it a pool of its own, with the same database, where workers may
	// use up all connections of the other one. Defaults to that one.
	LeasePool *pgxpool.Pool
	// MeterProvider gets the metrics of the reconciler. Defaults to the global one.
	MeterProvider metric.MeterProvider
	// Logger is where decisions and faults are told. Defaults to slog.Default.
	Logger *slog.Logger
}

// Coordinator runs and reconciles operations in one database. Safe for concurrent use.
type Coordinator struct {
	db      *pgxpool.Pool
	store   *Store
	kinds   map[string]Participants
	names   []string // of the kinds
	options Options
	logger  *slog.Logger
	metrics *metrics
	leader  leader
}

// NewCoordinator returns a coordinator of these kinds of operations. Operations of other kinds are left
// alone. It connects to nothing.
func NewCoordinator(db *pgxpool.Pool, store *Store, kinds map[string]Participants, options Options) (*Coordinator, error) {
	if options.Name == "" {
		options.Name = "reconciler"
	}
	if options.Most == 0 {
		options.Most = 1000
	}
	if options.LeasePool == nil {
		options.LeasePool = db
	}
	if options.MeterProvider == nil {
		options.MeterProvider = otel.GetMeterProvider()
	}
	if options.Logger == nil {
		options.Logger = slog.Default()
	}
	if err := call.CheckText("name", options.Name, 1, 255, "Say who reconciles."); err != nil {
		return nil, fmt.Errorf("configure sagas: %w", err)
	}
	if options.Most < 0 {
		return nil, &ConfigError{[]string{fmt.Sprintf("most %d: must be positive", options.Most)}}
	}
	m, err := newMetrics(options.MeterProvider)
	if err != nil {
		return nil, fmt.Errorf("configure sagas: %w", err)
	}
	l, err := newLeader()
	if err != nil {
		return nil, fmt.Errorf("configure sagas: %w", err)
	}
	return &Coordinator{db: db, store: store, kinds: maps.Clone(kinds), names: slices.Sorted(maps.Keys(kinds)),
		options: options, logger: options.Logger, metrics: m, leader: l}, nil
}

// ClaimOrResume is [Store.ClaimOrResume] for a kind that this coordinator knows. Participants may be
// left out of the request: they are those of the kind.
func (c *Coordinator) ClaimOrResume(ctx context.Context, r Request) (Outcome, error) {
	known, has := c.kinds[r.Kind]
	if !has {
		return nil, fmt.Errorf("claim operation: %w", call.Invalid("kind", "is not known here: "+r.Kind, "Give the coordinator its participants."))
	}
	if r.Participants == nil {
		r.Participants = slices.Sorted(maps.Keys(known))
	}
	if _, err := c.participants(r.Kind, r.Participants); err != nil {
		return nil, fmt.Errorf("claim operation: %w", err)
	}
	return c.store.ClaimOrResume(ctx, c.db, r)
}

// named is a participant and its name.
type named struct {
	name string
	Participant
}

// participants returns those of an operation, in the order of their names.
func (c *Coordinator) participants(kind string, names []string) ([]named, error) {
	var found []named
	for _, name := range slices.Sorted(slices.Values(names)) {
		p, known := c.kinds[kind][name]
		if !known || p == nil {
			return nil, call.Invalid("participants", name+" is not known to kind "+kind, "Give the coordinator every participant of its kinds, also former ones.")
		}
		found = append(found, named{name, p})
	}
	return found, nil
}

// every asks all participants, whatever one of them answers, each with its time limit, and returns
// the errors.
func (c *Coordinator) every(ctx context.Context, what string, all []named, ask func(ctx context.Context, p Participant) (hold.Answer, error)) []error {
	var errs []error
	for _, p := range all {
		limited, cancel := context.WithTimeout(ctx, c.store.settings.ParticipantTimeout)
		_, err := ask(limited, p.Participant)
		cancel()
		if err != nil {
			errs = append(errs, fmt.Errorf("%s at %s: %w", what, p.name, err))
		}
	}
	return errs
}

func (c *Coordinator) release(ctx context.Context, all []named, h outbox.Hold) error {
	return errors.Join(c.every(ctx, "release", all, func(ctx context.Context, p Participant) (hold.Answer, error) { return p.Release(ctx, h) })...)
}

func (c *Coordinator) cancel(ctx context.Context, all []named, h outbox.Hold) []error {
	return c.every(ctx, "cancel", all, func(ctx context.Context, p Participant) (hold.Answer, error) { return p.Cancel(ctx, h) })
}

func isLost(err error) bool { return errors.Is(err, ErrLeaseLost) }
