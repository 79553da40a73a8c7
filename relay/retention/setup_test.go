package retention_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/relay/retention"
)

// setup is a database of a test's own, with the four daily slots of the defaults. Its events are made
// old by changing their slot and their time, which is all that time would do to them.
type setup struct {
	t  *testing.T
	db *outboxtest.Database
	k  *retention.Keeper
	// held is a transaction that a test keeps open.
	held pgx.Tx
}

func newSetup(t *testing.T) *setup {
	t.Helper()
	return setupOn(t, outboxtest.NewDatabase(t))
}

func setupOn(t *testing.T, db *outboxtest.Database) *setup {
	t.Helper()
	s := &setup{t: t, db: db}
	s.k = s.keeper("pod-a")
	// No test goes on over midnight, when another slot becomes the current one.
	for query[bool](s, "SELECT (clock_timestamp() AT TIME ZONE 'UTC')::time > '23:57'") {
		time.Sleep(time.Second)
	}
	return s
}

func (s *setup) keeper(owner string, change ...func(*retention.Config)) *retention.Keeper {
	s.t.Helper()
	cfg := retention.Config{Owner: owner, Every: time.Second, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	for _, c := range change {
		c(&cfg)
	}
	k, err := retention.New(s.db.Pool, cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	return k
}

func (s *setup) exec(sql string, args ...any) {
	s.t.Helper()
	outboxtest.Exec(s.t, s.db.Pool, sql, args...)
}

func query[T any](s *setup, sql string, args ...any) T {
	s.t.Helper()
	return outboxtest.One[T](s.t, s.db.Pool, sql, args...)
}

const now = "(floor(extract(epoch from clock_timestamp()) / 86400)::int % 4)"

// old is a slot that is not the current one, nor will be tomorrow.
func (s *setup) old() int16 { s.t.Helper(); return query[int16](s, "SELECT ("+now+" + 2) % 4") }

// fill puts n events into a slot, dated so many days ago, in a transaction of their own.
func (s *setup) fill(slot int16, n int, days float64) {
	s.t.Helper()
	s.exec(fillSQL, slot, n, days)
}

const fillSQL = `INSERT INTO outbox.event_outbox (slot, event_id, source, type, partition_key, data, staged_at)
	SELECT $1, gen_random_uuid()::text, '/test', 'test.happened', 'key-' || i, 'x', clock_timestamp() - $3::float8 * interval '1 day'
	  FROM generate_series(1, $2::int) AS i`

// settle lets every lane of every group drain everything that is committed.
func (s *setup) settle() {
	s.t.Helper()
	s.exec("UPDATE outbox.outbox_lane SET drained = pg_current_snapshot(), target = NULL, pos = NULL")
}

func (s *setup) in(slot int16) int {
	s.t.Helper()
	return query[int](s, "SELECT count(*) FROM outbox.event_outbox WHERE slot = $1", slot)
}

func (s *setup) pass() *retention.Report {
	s.t.Helper()
	return s.passOf(s.k)
}

func (s *setup) passOf(k *retention.Keeper) *retention.Report {
	s.t.Helper()
	r, err := k.Pass(s.t.Context())
	if err != nil {
		s.t.Fatalf("pass: %v", err)
	}
	return r
}

// empties wants passes to empty the slot, unless somebody, such as a vacuum, is in it.
func (s *setup) empties(slot int16) {
	s.t.Helper()
	eventually(s.t, "the slot is not in use", func() bool {
		r := s.pass()
		if len(r.Refused) == 1 && r.Refused[0].Outcome == retention.Busy {
			return false
		}
		if len(r.Emptied) != 1 || r.Emptied[0].Slot != slot || s.in(slot) != 0 {
			s.t.Fatalf("emptied %+v, refused %+v, of slots %s; %d events are left in slot %d", r.Emptied, r.Refused, slots(r.State), s.in(slot), slot)
		}
		return true
	})
}

// keeps wants the next pass to leave the slot as it is, for a reason.
func (s *setup) keeps(slot int16, because retention.Outcome) {
	s.t.Helper()
	before := s.in(slot)
	r := s.pass()
	var found retention.Outcome
	for _, step := range r.Refused {
		if step.Slot == slot {
			found = step.Outcome
		}
	}
	if found == "" {
		for _, l := range r.State.Slots {
			if l.Slot == slot {
				found = l.Outcome
			}
		}
	}
	if found != because || len(r.Emptied) != 0 || s.in(slot) != before {
		s.t.Fatalf("found %q, want %q; emptied %+v; slots %s; %d of %d events left", found, because, r.Emptied, slots(r.State), s.in(slot), before)
	}
}

func slots(state *retention.State) string {
	text := ""
	for _, l := range state.Slots {
		text += fmt.Sprintf("[%d %s %s] ", l.Slot, l.Outcome, l.Why)
	}
	return text
}

// claim takes the lease as a pod would that does nothing with it yet.
func (s *setup) claim(owner string, lease time.Duration) (token string) {
	s.t.Helper()
	return query[string](s, retention.StatementTexts("outbox")["claim"], owner, lease)
}

// rotate asks for one step under a token.
func (s *setup) rotate(token string, slot int16) (outcome, why string) {
	s.t.Helper()
	var moved, bytes int64
	err := s.db.Pool.QueryRow(s.t.Context(), retention.StatementTexts("outbox")["rotate"], token, slot, nil, 500).Scan(&outcome, &why, &moved, &bytes)
	if err != nil {
		s.t.Fatalf("rotate: %v", err)
	}
	return outcome, why
}

// rotated is rotate for a slot that only a vacuum may be in.
func (s *setup) rotated(token string, slot int16) (outcome string) {
	s.t.Helper()
	eventually(s.t, "the slot is not in use", func() bool {
		outcome, _ = s.rotate(token, slot)
		return outcome != "busy"
	})
	return outcome
}

// register opens a generation.
func (s *setup) register() (operation string) {
	s.t.Helper()
	operation = uuid.Must(uuid.NewV7()).String()
	s.exec("SELECT outbox.hold_register($1, 1, 'test')", operation)
	return operation
}

// hold stages n held events, one statement for each, with ids that say their order.
func (s *setup) hold(operation string, n int) {
	s.t.Helper()
	s.exec(`SELECT outbox.publish_held_text($1, 1, '/test', 'test.held', 'x', id => $1 || '-' || lpad(i::text, 6, '0'), partitionkey => 'k')
	          FROM generate_series(1, $2::int) AS i`, operation, n)
}

// begin opens a transaction on a connection of its own.
func (s *setup) begin() pgx.Tx {
	s.t.Helper()
	conn, err := pgx.Connect(s.t.Context(), s.db.URL)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close(context.Background()) }) // ends with the test
	tx, err := conn.Begin(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return tx
}

// pool is a further pool on the database, for one role or one kind of traffic.
func (s *setup) pool(url string) *pgxpool.Pool {
	s.t.Helper()
	return outboxtest.NewPool(s.t, url)
}

// eventually waits until ok holds.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	outboxtest.Eventually(t, time.Minute, what, ok)
}

const hour = time.Hour

func sqlState(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// tryRollback ends a transaction that may have ended already.
func (s *setup) tryRollback(tx pgx.Tx) {
	s.t.Helper()
	if err := tx.Rollback(context.Background()); err != nil && !errors.Is(err, pgx.ErrTxClosed) {
		s.t.Errorf("rollback: %v", err)
	}
}

var errRollback = errors.New("roll back on purpose")
