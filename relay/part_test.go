package relay_test

import (
	"context"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// bug is a panic in the goroutine that runs a function of the relay, whenever it uses the
// database or the log. A connection that was taken for a statement is lost with it.
type bug struct{ in atomic.Pointer[string] }

// strike panics if the goroutine is the one.
func (b *bug) strike() {
	name := b.in.Load()
	if name == nil {
		return
	}
	stack := make([]byte, 64<<10)
	stack = stack[:runtime.Stack(stack, false)]
	if strings.Contains(string(stack), "(*Relay)."+*name+"(") {
		panic("a bug in " + *name)
	}
}

// buggyTracer strikes at statements.
type buggyTracer struct{ *bug }

func (t buggyTracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	t.strike()
	return ctx
}
func (buggyTracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (t buggyTracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	t.strike()
	return ctx
}
func (buggyTracer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (buggyTracer) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// buggyHandler strikes at lines of the log about the broker.
type buggyHandler struct {
	slog.Handler
	bug *bug
}

func (h buggyHandler) Handle(ctx context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "broker") {
		h.bug.strike()
	}
	return h.Handler.Handle(ctx, r)
}

func (h buggyHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return buggyHandler{h.Handler.WithAttrs(attrs), h.bug}
}

// TestPartThatDiesEndsTheRelay lets each goroutine of a relay panic in turn, with a database connection
// in its hands where it uses one: the process ends with an error that names the part, and
// another relay has the work at once.
func TestPartThatDiesEndsTheRelay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		part  string
		in    string // the function of its goroutine
		left  int    // lanes that are left to their leases
		cause func(s *setup)
	}{
		{part: "scout", in: "scout"},
		{part: "steward", in: "steward"},
		{part: "retry", in: "retry"},
		{part: "probe", in: "probe", cause: (*setup).deleteStream},
		{part: "drain lane", in: "drain", left: 1, cause: func(s *setup) { s.stage("k", 3) }},
	} {
		t.Run(c.part, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t)
			relay := s.startChild(func(c *relayConfig) { c.UnreadyAfter = 3 * time.Second; c.Lease = 10 * time.Second })
			s.awaitLanes(16)
			s.stage("k", 5)
			s.eventually("5 events settled", func() bool { return s.settled() == 5 })
			relay.ask("break " + c.in)
			if c.cause != nil {
				c.cause(s)
			}
			ended := make(chan error, 1)
			go func() { ended <- relay.end() }()
			select {
			case err := <-ended:
				if err == nil {
					t.Error("the process ended as if all were well")
				}
			case <-time.After(patience):
				t.Fatalf("the process goes on without a part of it:\n%s", relay.logs)
			}
			if log := relay.logs.String(); !strings.Contains(log, "run: part "+c.part) || !strings.Contains(log, "a bug in "+c.in) {
				t.Errorf("the log does not name the part:\n%s", log)
			}
			if n := query[int](s, "SELECT count(*) FROM outbox.outbox_lane WHERE lease_owner IS NOT NULL"); n != c.left {
				t.Errorf("%d lanes were not handed back, want %d", n, c.left)
			}
			if c.part == "probe" {
				return // without a stream
			}
			s.start()
			s.stage("k", 5)
			s.wantLogInStream()
		})
	}
}

// TestRelayThatEndedIsNotReady: whoever asks learns that nothing happens any more.
func TestRelayThatEndedIsNotReady(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	p := s.start()
	s.eventually("ready", func() bool { return p.Ready() == nil })
	if err := p.stopAndWait(); err != nil {
		t.Errorf("run: %v", err)
	}
	if err := p.Ready(); err == nil || !strings.Contains(err.Error(), "ended") {
		t.Errorf("ready after the end: %v", err)
	}
}
