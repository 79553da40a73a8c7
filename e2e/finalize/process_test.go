package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/e2e/fault"
)

// quick are the times of processes whose leases are waited for.
var quick = []string{
	"-timeout", "2s", "-margin", "200ms", "-heartbeat", "800ms", "-lease", "2500ms", "-grace", "2100ms",
	"-period", "100ms", "-pause", "100ms", "-max-pause", "500ms",
}

// child is a service in a process of its own.
type child struct {
	*fault.Process
	url string
}

// start runs a service, and returns when it listens.
func (s *stack) start(role, database string, args ...string) *child {
	s.t.Helper()
	first := &firstLine{line: make(chan string, 1)}
	cmd := exec.Command(os.Args[0], append([]string{role}, args...)...)
	cmd.Env = append(os.Environ(), childEnv+"=1", "DATABASE_URL="+database, "TOKEN="+token, "DIGEST_KEY="+digestKey)
	cmd.Stdout, cmd.Stderr = first, s.log
	process, err := fault.StartProcess(cmd)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(process.Kill)
	return &child{process, "http://" + wait(s, role+" listens", first.line)}
}

// firstLine sends the first line that is written.
type firstLine struct {
	text bytes.Buffer
	once sync.Once
	line chan string
}

func (f *firstLine) Write(p []byte) (int, error) {
	f.text.Write(p)
	if line, _, whole := bytes.Cut(f.text.Bytes(), []byte("\n")); whole {
		f.once.Do(func() { f.line <- string(line) })
	}
	return len(p), nil
}

// processes are both services as processes, the intake twice, with the gate between them.
type processes struct {
	*stack
	registrar atomic.Pointer[child]
	intakes   [2]atomic.Pointer[child]
}

// newProcesses starts them. With a front, calls of the intake go through that, and not through the gate.
func newProcesses(t *testing.T, front func(http.Handler) http.Handler) *processes {
	p := &processes{stack: newStack(t).listen()}
	p.startRegistry()
	network := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			to, err := url.Parse(p.registrar.Load().url)
			if err == nil {
				r.SetURL(to)
			}
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }, // as the network would
	}
	if front == nil {
		p.gate.lead(network)
	} else {
		p.url = p.serve(front(network))
	}
	for i := range p.intakes {
		p.startIntake(i)
	}
	return p
}

func (p *processes) startRegistry() {
	p.registrar.Store(p.start("registry", p.registry.URL, "-period", "100ms"))
}

func (p *processes) startIntake(i int) {
	p.intakes[i].Store(p.start("intake", p.intake.URL, append([]string{"-registry", p.url}, quick...)...))
}

// finish asks one intake after the other until the application is there.
func (p *processes) finish(id uuid.UUID) answer {
	p.t.Helper()
	var got answer
	n := 0
	p.until("the application is filed", func() bool {
		n++
		var err error
		got, err = post(p.t.Context(), p.intakes[n%2].Load().url, id, form())
		return err == nil && got.status == http.StatusOK
	})
	return got
}

// wantFiledAtLast waits for the release, whose generation may be any.
func (p *processes) wantFiledAtLast(id uuid.UUID) {
	p.t.Helper()
	p.until("it is released", func() bool {
		return read[bool](p.stack, p.intake, `SELECT events_released FROM outbox.saga_operation WHERE operation_id = $1`, id)
	})
	p.wantFiled(id, read[int](p.stack, p.intake, `SELECT generation FROM outbox.saga_operation WHERE operation_id = $1`, id))
}

// TestCriterionH: concurrent, timeout after commit, failure in the middle, restart and reaper, with
// processes that are killed at known points.
func TestCriterionH(t *testing.T) {
	t.Parallel()
	p := newProcesses(t, nil)
	t.Run("concurrent", p.concurrent)
	t.Run("timeout after commit", func(t *testing.T) {
		id := p.draft()
		reached := p.gate.on(id, "member:0", 1, late)
		client := async(func() answer { return p.finish(id) })
		wait(p.stack, "the answer is kept back", reached)
		wait(p.stack, "the client is served", client)
		p.wantFiledAtLast(id)
	})
	t.Run("failure in the middle: the registry is killed", p.registryKilled)
	t.Run("restart: the intake is killed", p.intakeKilled)
	t.Run("killed between the commit and the release", p.killedBeforeRelease)
	t.Run("the reconciler is killed", p.reconcilerKilled)
	t.Run("reaper", p.reaperRuns)
	p.settle()
	p.wantResolvable()
}

func (p *processes) concurrent(t *testing.T) {
	ids := []uuid.UUID{p.draft(), p.draft(), p.draft()}
	var clients sync.WaitGroup
	var mu sync.Mutex
	answers := map[uuid.UUID]map[string]bool{}
	for _, id := range ids {
		answers[id] = map[string]bool{}
		for range 4 {
			clients.Go(func() {
				got := p.finish(id)
				mu.Lock()
				defer mu.Unlock()
				answers[id][got.body] = true
			})
		}
	}
	clients.Wait()
	for _, id := range ids {
		if len(answers[id]) != 1 {
			t.Errorf("answers are %v", answers[id])
		}
		p.wantFiledAtLast(id)
	}
}

// registryKilled: it has committed a step, and dies before it answers.
func (p *processes) registryKilled(t *testing.T) {
	id, dead := p.draft(), make(chan struct{})
	p.gate.on(id, "person:1", 1, func(_ http.ResponseWriter, q *http.Request, next http.Handler) {
		defer close(dead)
		defer p.registrar.Load().Kill()
		next.ServeHTTP(discarded(), q.WithContext(context.WithoutCancel(q.Context())))
		panic(http.ErrAbortHandler)
	})
	client := async(func() answer { return p.finish(id) })
	wait(p.stack, "it is killed", dead)
	p.startRegistry()
	wait(p.stack, "the client is served", client)
	p.wantFiledAtLast(id)
}

// intakeKilled: it dies while its call is on its way. Another one steals the operation when the lease is
// over, and the call arrives after that.
func (p *processes) intakeKilled(t *testing.T) {
	id, open := p.draft(), make(chan struct{})
	reached := p.gate.on(id, "household", 1, stall(open))
	// Only this one is asked, so that it is known whose call it is.
	go func() { _, _ = post(context.WithoutCancel(t.Context()), p.intakes[0].Load().url, id, form()) }()
	wait(p.stack, "its call is on its way", reached)
	p.intakes[0].Load().Kill()
	p.startIntake(0)
	p.finish(id)
	close(open)
	p.wantFiledAtLast(id)
}

// killedBeforeRelease: no client comes again; the reconciler of the other one releases.
func (p *processes) killedBeforeRelease(t *testing.T) {
	id := p.draft()
	dead := make(chan struct{})
	p.gate.on(id, "release", 1, func(http.ResponseWriter, *http.Request, http.Handler) {
		p.intakes[1].Load().Kill()
		close(dead)
		panic(http.ErrAbortHandler)
	})
	_, _ = post(t.Context(), p.intakes[1].Load().url, id, form()) // its connection ends
	wait(p.stack, "it is killed", dead)
	p.startIntake(1)
	p.wantFiledAtLast(id)
}

// reconcilerKilled: whoever compensates dies after the registry has done it. The next one ends it.
func (p *processes) reconcilerKilled(t *testing.T) {
	id := p.draft()
	p.gate.on(id, "income:0", 1, lose)
	if got, err := post(t.Context(), p.intakes[0].Load().url, id, form()); err != nil || got.status == http.StatusOK {
		t.Fatalf("answer is %s, %v", got, err)
	}
	dead := make(chan struct{})
	p.gate.on(id, "cancel", 1, func(_ http.ResponseWriter, q *http.Request, next http.Handler) {
		next.ServeHTTP(discarded(), q.WithContext(context.WithoutCancel(q.Context()))) // also when it takes too long
		for i := range p.intakes {                                                     // one of them it was
			p.intakes[i].Load().Kill()
		}
		close(dead)
		panic(http.ErrAbortHandler)
	})
	wait(p.stack, "the reconciler is killed", dead)
	p.wantState(id, 1, "compensating")
	for i := range p.intakes {
		p.startIntake(i)
	}
	p.until("it is aborted", func() bool {
		return read[string](p.stack, p.intake, `SELECT state FROM outbox.saga_operation WHERE operation_id = $1`, id) == "aborted"
	})
	p.wantUndone(id, 1)
	p.finish(id)
	p.wantFiledAtLast(id)
}

// reaperRuns: the draft expires while its operation is under way. It stays until the operation has been
// undone, and then goes.
func (p *processes) reaperRuns(t *testing.T) {
	id, open := p.draft(), make(chan struct{})
	p.exec(p.intake, `UPDATE draft SET expires_at = clock_timestamp() + interval '1 s' WHERE id = $1`, id)
	reached := p.gate.on(id, "asset:0", 1, stall(open))
	client := async(func() answer {
		got, err := post(t.Context(), p.intakes[0].Load().url, id, form())
		if err != nil {
			t.Error(err)
		}
		return got
	})
	wait(p.stack, "it calls", reached)
	// A draft that was there before has gone: the reaper has been here since this one expired.
	other := p.draft()
	p.exec(p.intake, `UPDATE draft SET expires_at = (SELECT expires_at FROM draft WHERE id = $2) + interval '1 ms' WHERE id = $1`, other, id)
	reaped := func(id uuid.UUID) bool {
		return read[int](p.stack, p.intake, `SELECT count(*) FROM draft WHERE id = $1`, id) == 0
	}
	p.until("the reaper has run", func() bool { return reaped(other) })
	if reaped(id) { // on a slow machine, after it was undone
		p.wantState(id, 1, "aborted")
	}
	close(open)
	if got := wait(p.stack, "the client is told", client); got.status == http.StatusOK {
		t.Errorf("answer is %s", got)
	}
	p.until("it is undone and reaped", func() bool { return reaped(id) })
	p.wantState(id, 1, "aborted")
	p.wantUndone(id, 1)
	p.wantNoApplication(id)
}
