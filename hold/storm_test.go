package hold_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/outbox"
)

var stormSeed = flag.Uint64("hold.seed", 0, "seed of TestStorm; 0 takes one from the clock and prints it")

// storm is what the workers of TestStorm did, as far as the database told them.
type storm struct {
	mu     sync.Mutex
	staged map[outbox.Hold][]string    // events of transactions that committed
	moved  map[outbox.Hold]hold.Answer // the decision that says Changed
}

// Many workers register, stage, release and cancel a few generations in any order, in
// transactions of any level that commit or roll back. Afterwards each event that was
// committed is where the one decision about its generation put it, or waits for one.
func TestStorm(t *testing.T) {
	t.Parallel()
	seed := *stormSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("repeat with -hold.seed=%d", seed)
	b := setup(t)
	operations := []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
	s := &storm{staged: map[outbox.Hold][]string{}, moved: map[outbox.Hold]hold.Answer{}}
	calls := 150
	if testing.Short() {
		calls = 50
	}
	var workers errgroup.Group
	for w := range uint64(8) {
		workers.Go(func() error {
			random := rand.New(rand.NewPCG(seed, w))
			for i := range calls {
				h := outbox.Hold{Operation: operations[random.IntN(len(operations))], Generation: 1 + i*4/calls + random.IntN(3)}
				if err := s.step(t, b, random, h, fmt.Sprintf("w%d-%03d", w, i)); err != nil {
					return fmt.Errorf("worker %d call %d: %w", w, i, err)
				}
			}
			return nil
		})
	}
	if err := workers.Wait(); err != nil {
		t.Fatal(err)
	}
	s.check(t, b)
	for _, code := range []string{"23505", "40P01", "25P02"} {
		if log := b.ServerLog(t); strings.Contains(log, "sqlstate="+code) {
			t.Errorf("the server logged SQLSTATE %s:\n%s", code, log)
		}
	}
}

// step makes one random call. A refusal is an answer, and so is "do it again".
func (s *storm) step(t *testing.T, b *testBundle, random *rand.Rand, h outbox.Hold, id string) error {
	var err error
	switch n := random.IntN(20); {
	case n < 3:
		_, err = hold.Register(t.Context(), b.Pool, h, "storm")
	case n < 16:
		err = s.stage(t, b, random, h, id)
	default:
		decide := []string{"release", "release", "cancel", "drop"}[n-16]
		var answer hold.Answer
		if answer, err = decisions[decide].decide(t, b.Pool, h); err == nil && answer.Changed {
			s.mu.Lock()
			defer s.mu.Unlock()
			if other, twice := s.moved[h]; twice {
				return fmt.Errorf("%v is decided twice: %+v, %+v", h, other, answer)
			}
			s.moved[h] = answer
		}
	}
	if state := refusalState(err); err == nil || refusalCodes[state] != "" || outbox.Retryable(err) {
		return nil
	}
	if code := refusalCode(err); code >= "HF010" && code <= "HF013" { // stage gives the database's error
		return nil
	}
	return err
}

func (s *storm) stage(t *testing.T, b *testBundle, random *rand.Rand, h outbox.Hold, id string) error {
	level := []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable}[random.IntN(4)]
	tx, err := b.Pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: level})
	if err != nil {
		return err
	}
	ids := names(id, 1+random.IntN(3))
	for _, id := range ids {
		if err := stage(t.Context(), tx, h, id); err != nil {
			_ = tx.Rollback(t.Context()) // the first error says it
			return err
		}
	}
	if random.IntN(5) == 0 {
		return tx.Rollback(t.Context())
	}
	if err := tx.Commit(t.Context()); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.staged[h] = append(s.staged[h], ids...)
	return nil
}

// check compares what the workers were told with what is there.
func (s *storm) check(t *testing.T, b *testBundle) {
	t.Helper()
	decided := map[hold.GenerationState]int{}
	for h, staged := range s.staged {
		slices.Sort(staged)
		state, err := hold.State(t.Context(), b.Pool, h)
		if err != nil {
			t.Fatalf("state of %v: %v", h, err)
		}
		decided[state.State]++
		var visible, waiting []string
		switch count := int64(len(staged)); state.State {
		case hold.Active:
			waiting = staged
		case hold.Released:
			visible = staged
			if state.Released != count || s.moved[h].Released != count {
				t.Errorf("%v: %d events staged, %d released, %d by the one who did it", h, count, state.Released, s.moved[h].Released)
			}
		case hold.Cancelled:
			if state.Dropped != count || s.moved[h].Dropped != count {
				t.Errorf("%v: %d events staged, %d dropped, %d by the one who did it", h, count, state.Dropped, s.moved[h].Dropped)
			}
		}
		const events = `SELECT event_id FROM outbox.event_outbox
			WHERE hold_operation_id = $1 AND hold_generation = $2 AND (tx IS NULL) = $3 ORDER BY event_id COLLATE "C"`
		if diff := cmp.Diff(append([]string{}, visible...), column[string](t, b.Pool, events, h.Operation, h.Generation, false)); diff != "" {
			t.Errorf("%v is %s: events in the log (-want +got):\n%s", h, state.State, diff)
		}
		if diff := cmp.Diff(append([]string{}, waiting...), column[string](t, b.Pool, events, h.Operation, h.Generation, true)); diff != "" {
			t.Errorf("%v is %s: events that wait (-want +got):\n%s", h, state.State, diff)
		}
	}
	t.Logf("generations with events, by state: %v", decided)
	const strays = `SELECT count(*) FROM outbox.event_outbox e LEFT JOIN outbox.hold_generation g
		ON (g.operation_id, g.generation) = (e.hold_operation_id, e.hold_generation)
		WHERE (e.tx IS NULL AND g.state IS DISTINCT FROM 'active') OR (e.tx IS NOT NULL AND g.state IS DISTINCT FROM 'released')`
	if n := read[int](t, b.Pool, strays); n != 0 {
		t.Errorf("%d events are not where their generation's state puts them", n)
	}
}
