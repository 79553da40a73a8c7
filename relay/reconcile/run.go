package reconcile

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/relay"
	"github.com/holdfast-dev/holdfast/relay/internal/position"
)

// run is one comparison. It belongs to one goroutine.
type run struct {
	cfg    Config
	pool   *pgxpool.Pool
	tx     pgx.Tx // one snapshot for everything that is read
	sql    map[string]string
	js     jetstream.JetStream
	report *Report
	pub    *relay.Publisher // nil without a repair

	stream  *jetstream.StreamInfo // as it was when the reading began
	digests *digester
	seed    maphash.Seed

	window   position.Window
	expired  int64                // events below this number may have been dropped by the stream's limits, when it was asked last
	now      time.Time            // by the clock of the database
	horizon  time.Time            // foreign is only what was stored after it, and
	since    uint64               // after this sequence, and
	before   uint64               // up to this one, which the stream had before the snapshot was taken
	gone     map[string]bool      // ids of dead letters that the log has forgotten
	sources  map[uint32]struct{}  // hashes of the sources in the log
	disorder []place              // events that stand behind later ones of their keys
	read     struct{ e, m int64 } // for Progress
}

// place is an event with its message.
type place struct {
	lane   int16
	seq    int64
	stream uint64
}

// Run compares the stream with the log, and repairs what is missing if it is asked to. Errors
// that say why nothing was compared: [ErrNoGroup], [ErrConsumedStream], an
// [*outbox.SchemaError], [jetstream.ErrStreamNotFound]; [*walk.EndError] when the stream could not be read to its end, or when
// messages were removed before they were read ([walk.ErrRemoved]). A report beside an error says what was found, and
// repaired, until then; it may be nil. The role needs the rights of a relay. Until it returns, one
// transaction that only reads stays open.
func Run(ctx context.Context, pool *pgxpool.Pool, nc *nats.Conn, cfg Config) (*Report, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("reconcile: %w", err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, fmt.Errorf("reconcile: %w", err)
	}
	r := &run{
		cfg: cfg, pool: pool, js: js, sql: statements(cfg.Relay.Schema), seed: maphash.MakeSeed(),
		gone: map[string]bool{}, sources: map[uint32]struct{}{},
		report: &Report{Stream: cfg.Relay.Stream, Schema: cfg.Relay.Schema, Group: cfg.Relay.Group,
			Since: cfg.Since, Until: cfg.Until, Counts: map[Class]int64{}},
	}
	if r.digests, err = newDigester(); err != nil {
		return nil, fmt.Errorf("reconcile: %w", err)
	}
	if cfg.Repair {
		r.report.Repair = &Repair{}
		if r.pub, err = relay.NewPublisher(nc, cfg.Relay); err != nil {
			return nil, err
		}
	}
	stream, err := js.Stream(ctx, cfg.Relay.Stream)
	if err != nil {
		return nil, fmt.Errorf("reconcile stream %s: %w", cfg.Relay.Stream, err)
	}
	r.before = stream.CachedInfo().State.LastSeq
	started := false
	err = pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		r.tx = tx
		if err := r.look(ctx); err != nil {
			return err
		}
		started = true
		return r.compare(ctx)
	})
	if !started {
		return nil, fmt.Errorf("reconcile stream %s: %w", cfg.Relay.Stream, err)
	}
	r.report.arrange()
	if err != nil {
		return r.report, fmt.Errorf("reconcile stream %s: %w", cfg.Relay.Stream, err)
	}
	return r.report, nil
}

// look reads what has to be known first. The end of the stream is asked for after the snapshot
// of the database was taken.
func (r *run) look(ctx context.Context) error {
	if _, err := r.tx.Exec(ctx, r.sql["session"]); err != nil {
		return err
	}
	found, err := outbox.ReadSchema(ctx, r.tx, r.cfg.Relay.Schema)
	if err == nil {
		err = found.Check("outbox", "relay")
	}
	if err != nil {
		return err
	}
	var kept *time.Time
	var group bool
	var since, acknowledged int64
	if err := r.tx.QueryRow(ctx, r.sql["overview"], r.cfg.Relay.Group, r.cfg.Relay.Stream).Scan(&r.report.Events, &kept, &acknowledged, &since, &group, &r.report.Streams, &r.now); err != nil {
		return fmt.Errorf("look at the log: %w", err)
	}
	if !group {
		return fmt.Errorf("group %s: %w", r.cfg.Relay.Group, ErrNoGroup)
	}
	r.since, r.report.Acknowledged = uint64(since), uint64(acknowledged)
	r.horizon = r.now // of an empty log nothing can be judged
	if kept != nil {
		r.horizon = kept.Add(r.cfg.Skew)
	}
	if r.window, err = position.Between(ctx, r.tx, r.cfg.Relay.Schema, r.cfg.Since, r.cfg.Until); err != nil {
		return err
	}
	rows, err := r.tx.Query(ctx, r.sql["gone"], r.cfg.Relay.Group)
	if err != nil {
		return fmt.Errorf("look at the dead letters: %w", err)
	}
	var id string
	if _, err := pgx.ForEachRow(rows, []any{&id}, func() error { r.gone[id] = true; return nil }); err != nil {
		return fmt.Errorf("look at the dead letters: %w", err)
	}
	return r.lookAtStream(ctx)
}

func (r *run) lookAtStream(ctx context.Context) (err error) {
	if r.stream, err = r.stateOf(ctx); err != nil {
		return err
	}
	state, limits := r.stream.State, r.stream.Config
	if limits.Retention != jetstream.LimitsPolicy {
		return ErrConsumedStream
	}
	r.report.First, r.report.Last, r.report.Window = state.FirstSeq, state.LastSeq, limits.Duplicates
	r.report.Regressed = state.LastSeq < r.report.Acknowledged
	return r.expire(ctx, state)
}

// expire finds out what the limits of the stream may have dropped.
func (r *run) expire(ctx context.Context, state jetstream.StreamState) (err error) {
	limits := r.stream.Config
	var kept time.Time // when the oldest message was stored that the limits have left
	switch {
	case anyMayExpire(limits):
		kept = r.now
	case !firstMayExpire(limits):
		return nil
	case state.Msgs > 0 && state.FirstSeq > 1:
		kept = state.FirstTime
	case state.Msgs == 0 && limits.MaxAge > 0:
		kept = r.now.Add(-limits.MaxAge)
	default:
		return nil
	}
	r.expired, _, err = position.Since(ctx, r.tx, r.cfg.Relay.Schema, kept)
	return err
}

// compare makes as many passes as the memory asks for.
func (r *run) compare(ctx context.Context) error {
	passes := uint64(r.report.Events/int64(r.cfg.MaxEntries)) + 1
	for n := range passes {
		r.report.Passes++
		if err := r.pass(ctx, part{n: n, of: passes}); err != nil {
			return err
		}
	}
	if err := r.judgeDisorder(ctx); err != nil {
		return err
	}
	return r.name(ctx)
}

// part is a share of the keys: all events of one key are in the same.
type part struct{ n, of uint64 }

// has reports whether an event belongs to the part: by its key, or by its id if it has none.
func (p part) has(keyHash uint64, id key) bool {
	if p.of == 1 {
		return true
	}
	if keyHash == 0 {
		keyHash = id.head
	}
	return keyHash%p.of == p.n
}

// keyHash is 0 for the empty key only.
func (r *run) keyHash(partitionKey string) uint64 {
	if partitionKey == "" {
		return 0
	}
	return maphash.String(r.seed, partitionKey) | 1<<63
}

func (r *run) pass(ctx context.Context, p part) error {
	events, err := r.readLog(ctx, p)
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	slices.SortFunc(events, compareEvents)
	read, err := r.readStream(ctx, p, func(m *message) { r.see(events, m) })
	if err == nil {
		err = r.settleEnd(ctx, read)
	}
	if err != nil {
		return fmt.Errorf("read the stream: %w", err)
	}
	r.conclude(events)
	gone := r.order(events)
	if r.pub == nil || len(gone) == 0 {
		return nil
	}
	return r.repair(ctx, gone)
}
