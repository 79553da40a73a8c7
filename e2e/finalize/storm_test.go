package main

import (
	"bytes"
	"context"
	"flag"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
)

var (
	stormFor  = flag.Duration("finalize.for", 5*time.Second, "how long the storm lasts")
	stormSeed = flag.Uint64("finalize.seed", 0, "seed of the storm; 0 takes the clock")
)

// storm is random clients, deaths, pauses, slow and lost calls, and somebody who changes what the
// registry has, all at once.
type storm struct {
	*processes
	seed    uint64
	weather *weather
	load    context.Context // ends with the storm
	guest   string          // a person that no operation made

	mu         sync.Mutex
	operations []*operation // that clients know of
	deaths     int
	pauses     int
	changes    int // of the clerk
}

// operation is what clients were told of one. Guarded by the storm's mu.
type operation struct {
	id       uuid.UUID
	brief    bool            // its draft expires soon
	answers  map[string]bool // bodies of success
	statuses map[int]int
}

// TestFinalizeStorm: after a random schedule there is exactly one result or none per operation, no orphan
// outside of the quarantine, no held event of a generation that has ended, and events downstream if and
// only if the operation completed.
func TestFinalizeStorm(t *testing.T) {
	t.Parallel()
	seed := *stormSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("repeat with -finalize.seed=%d -finalize.for=%s", seed, *stormFor)
	s := &storm{seed: seed}
	s.weather = &weather{rng: rand.New(rand.NewPCG(seed, 1))}
	s.processes = newProcesses(t, s.weather.over)
	var end context.CancelFunc
	s.load, end = context.WithTimeout(t.Context(), *stormFor)
	defer end()
	s.guest = s.newGuest()
	s.weather.bad.Store(true)
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() { s.client(rand.New(rand.NewPCG(seed, uint64(100+n)))) })
	}
	all.Go(func() { s.clerk(rand.New(rand.NewPCG(seed, 2))) })
	s.faults(rand.New(rand.NewPCG(seed, 3)))
	all.Wait()
	s.weather.bad.Store(false)
	s.finishSome(10)
	s.until("every operation has ended", func() bool {
		return read[int](s.stack, s.intake, `SELECT count(*) FROM outbox.saga_operation
			WHERE state NOT IN ('completed', 'aborted', 'stuck') OR state = 'completed' AND NOT events_released`) == 0
	})
	s.judge()
	s.settle()
}

// finishSome has patient clients finish the latest operations, whatever became of them in the storm.
func (s *storm) finishSome(most int) {
	s.t.Helper()
	s.mu.Lock()
	latest := s.operations[max(0, len(s.operations)-most):]
	s.mu.Unlock()
	for _, o := range latest {
		s.until("a patient client is answered", func() bool {
			got, err := post(s.t.Context(), s.intakes[0].Load().url, o.id, form())
			if err == nil && got.status == http.StatusOK {
				o.answers[got.body] = true
			}
			return err == nil && got.status != http.StatusServiceUnavailable && got.status != http.StatusBadGateway
		})
	}
}

// weather stands between the intake and the registry. While it is bad, calls are refused, lost, late,
// slow, or hang. Safe for concurrent use.
type weather struct {
	bad atomic.Bool

	mu  sync.Mutex
	rng *rand.Rand
}

func (w *weather) over(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body) // whoever has not read it does not learn that its caller has gone
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if !w.bad.Load() {
			next.ServeHTTP(rw, r)
			return
		}
		w.mu.Lock()
		dice, pause := w.rng.IntN(100), time.Duration(w.rng.IntN(1500))*time.Millisecond
		w.mu.Unlock()
		switch {
		case dice < 3:
			refuse(http.StatusServiceUnavailable)(rw, r, next)
		case dice < 6:
			lose(rw, r, next)
		case dice < 7:
			late(rw, r, next)
		case dice < 8:
			hang(rw, r, next)
		case dice < 11: // also behind the time of its caller, as a packet that took its time
			passes := time.NewTimer(pause)
			defer passes.Stop()
			<-passes.C
			stall(closed)(rw, r, next)
		default:
			next.ServeHTTP(rw, r)
		}
	})
}

// closed holds up nobody.
var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// client finalizes drafts, its own and those of others, with little patience.
func (s *storm) client(rng *rand.Rand) {
	for s.load.Err() == nil {
		o := s.choose(rng)
		for range 1 + rng.IntN(12) {
			if s.send(rng, o) || s.load.Err() != nil {
				break
			}
			pause(s.load, time.Duration(rng.IntN(150))*time.Millisecond)
		}
	}
}

// choose takes a new draft, or one that somebody works on.
func (s *storm) choose(rng *rand.Rand) *operation {
	s.mu.Lock()
	if n := len(s.operations); n > 0 && rng.IntN(100) < 35 {
		defer s.mu.Unlock()
		return s.operations[n-1-rng.IntN(min(n, 12))]
	}
	s.mu.Unlock()
	o := &operation{id: uuid.New(), brief: rng.IntN(100) < 20, answers: map[string]bool{}, statuses: map[int]int{}}
	life := time.Hour
	if o.brief {
		life = time.Duration(rng.IntN(2500)) * time.Millisecond
	}
	if _, err := s.stack.intake.Pool.Exec(s.t.Context(), `INSERT INTO draft VALUES ($1, clock_timestamp() + $2::interval)`, o.id, life); err != nil {
		s.t.Error(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.operations = append(s.operations, o)
	return o
}

// send sends the form once, and says whether there is nothing more to ask.
func (s *storm) send(rng *rand.Rand, o *operation) bool {
	sent := form()
	edited := rng.IntN(100) < 5
	if edited {
		sent.Assets[0].Amount = "1"
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), 50*time.Millisecond+time.Duration(rng.IntN(4000))*time.Millisecond)
	defer cancel()
	got, err := post(ctx, s.intakes[rng.IntN(2)].Load().url, o.id, sent)
	if err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o.statuses[got.status]++
	if got.status == http.StatusOK {
		o.answers[got.body] = true
	}
	return got.status == http.StatusOK || got.status == http.StatusNotFound
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// faults kills and pauses processes until the storm ends, and leaves all of them running.
func (s *storm) faults(rng *rand.Rand) {
	for s.load.Err() == nil {
		pause(s.load, time.Duration(150+rng.IntN(900))*time.Millisecond)
		switch victim := rng.IntN(2); rng.IntN(4) {
		case 0:
			s.registrar.Load().Kill()
			s.startRegistry()
			s.deaths++
		case 1: // it comes back as a zombie
			c := s.intakes[victim].Load()
			if err := c.Pause(); err != nil {
				s.t.Error(err)
			}
			pause(s.load, time.Duration(300+rng.IntN(4000))*time.Millisecond)
			if err := c.Resume(); err != nil {
				s.t.Error(err)
			}
			s.pauses++
		default:
			s.intakes[victim].Load().Kill()
			pause(s.load, time.Duration(rng.IntN(300))*time.Millisecond)
			s.startIntake(victim)
			s.deaths++
		}
	}
}

// clerk works at the registry beside the operations: corrects persons, and has others join households.
func (s *storm) clerk(rng *rand.Rand) {
	const open = `SELECT e.id::text FROM entity e JOIN outbox.hold_generation g USING (operation_id, generation)
		WHERE g.state = 'active' AND e.kind = $1 AND e.active ORDER BY random() LIMIT 1`
	for s.load.Err() == nil {
		pause(s.load, time.Duration(100+rng.IntN(400))*time.Millisecond)
		kind := []string{"person", "household"}[rng.IntN(2)]
		for _, id := range list[string](s.stack, s.registry, open, kind) {
			path, body := "/v1/entities/"+id+"/corrections", `{"data":{"note":"SECRET-moved"}}`
			if kind == "household" {
				path, body = "/v1/memberships", `{"household":"`+id+`","person":"`+s.guest+`","data":{"role":"guest"}}`
			}
			if got, err := s.ask(http.MethodPost, s.registrar.Load().url+path, body); err == nil && got.status == http.StatusOK {
				s.changes++
			}
		}
	}
}
