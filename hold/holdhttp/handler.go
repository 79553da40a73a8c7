package holdhttp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/wire"
)

// Handler is the control surface of the holds in one database. It is safe for concurrent use.
// Mount it at wire.Prefix, on a server that has a limit for reading headers.
type Handler struct {
	cfg     Config
	db      *pgxpool.Pool
	store   *hold.Store
	callers map[string]bool
	limits  *limits
	turns   chan struct{} // has one element for each call that uses the database
}

// New makes a handler. It connects to nothing. Errors: [*ConfigError].
func New(db *pgxpool.Pool, cfg Config) (*Handler, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if db == nil {
		return nil, &ConfigError{[]string{"no database"}}
	}
	cfg = cfg.withDefaults()
	store, err := hold.New(hold.Config{Schema: cfg.Schema})
	if err != nil {
		return nil, fmt.Errorf("new control surface: %w", err)
	}
	h := &Handler{cfg: cfg, db: db, store: store, callers: map[string]bool{},
		limits: newLimits(cfg.Rate, cfg.Burst), turns: make(chan struct{}, cfg.Concurrent)}
	for _, name := range cfg.Callers {
		h.callers[name] = true
	}
	return h, nil
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begun := &begun{ResponseWriter: w}
	defer h.survive(begun, r)
	// A caller that goes away learns nothing of the outcome either way. Going on makes its
	// repeated call a short one.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), h.cfg.Timeout)
	defer cancel()
	answer, err := h.answer(ctx, begun, r.WithContext(ctx))
	if err == nil {
		err = writeJSON(begun, answer)
		if err != nil {
			h.cfg.Logger.DebugContext(ctx, "control answer not sent", "error", err)
		}
		return
	}
	h.writeProblem(ctx, begun, err)
}

// call is one request of a caller who may make it.
type call struct {
	caller   string
	operator bool
	params   []string // of the path
	after    int      // the query's
	body     []byte
}

// answer goes through the questions of the package comment.
func (h *Handler) answer(ctx context.Context, w http.ResponseWriter, r *http.Request) (any, error) {
	c, err := h.admit(r)
	if err != nil {
		return nil, err
	}
	route, params, err := match(w, r)
	if err != nil {
		return nil, err
	}
	c.params = params
	if c.after, err = route.readQuery(r); err != nil {
		return nil, err
	}
	if route.method == http.MethodPost {
		if c.body, err = readBody(w, r, h.cfg.MaxBody); err != nil {
			return nil, err
		}
	}
	if route.run == nil {
		return document, nil
	}
	select {
	case h.turns <- struct{}{}:
		defer func() { <-h.turns }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return route.run(h, ctx, c)
}

// admit says who calls, and whether it may.
func (h *Handler) admit(r *http.Request) (*call, error) {
	caller, err := authenticate(h.cfg.Authenticators, r)
	if errors.Is(err, ErrNoCredentials) || errors.Is(err, ErrBadCredentials) {
		h.cfg.Logger.WarnContext(r.Context(), "control call without good credentials", "sent", !errors.Is(err, ErrNoCredentials))
		return nil, problem(wire.Unauthenticated)
	}
	if err != nil {
		return nil, &fault{wire.NewProblem(wire.Unavailable), fmt.Errorf("authenticate: %w", err)}
	}
	operator := h.cfg.OperatorRole != "" && has(caller.Roles, h.cfg.OperatorRole)
	service := has(caller.Roles, h.cfg.ServiceRole) && h.callers[caller.Name]
	if !operator && !service {
		h.cfg.Logger.WarnContext(r.Context(), "control call not allowed", "caller", caller.Name)
		return nil, problem(wire.CallerNotAllowed)
	}
	if wait := h.limits.take(caller.Name); wait > 0 {
		p := wire.NewProblem(wire.RateLimited)
		p.RetryAfter = seconds(wait)
		return nil, &fault{problem: p}
	}
	return &call{caller: caller.Name, operator: operator}, nil
}

func has(roles []string, role string) bool {
	for _, r := range roles {
		if r == role {
			return true
		}
	}
	return false
}

// survive answers a request whose handling panicked. What was thrown is not told: it may hold
// anything.
func (h *Handler) survive(w *begun, r *http.Request) {
	thrown := recover()
	if thrown == nil {
		return
	}
	if err, ok := thrown.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(thrown)
	}
	h.cfg.Logger.ErrorContext(r.Context(), "control call panicked", "type", fmt.Sprintf("%T", thrown), "stack", string(debug.Stack()))
	if w.written {
		panic(http.ErrAbortHandler) // half an answer must not look like a whole one
	}
	h.send(r.Context(), w, wire.NewProblem(wire.Internal))
}

// begun notes whether an answer has begun.
type begun struct {
	http.ResponseWriter
	written bool
}

func (b *begun) WriteHeader(status int) {
	b.written = true
	b.ResponseWriter.WriteHeader(status)
}

func (b *begun) Write(p []byte) (int, error) {
	b.written = true
	return b.ResponseWriter.Write(p)
}

// Unwrap is what http.ResponseController looks for.
func (b *begun) Unwrap() http.ResponseWriter { return b.ResponseWriter }

func writeJSON(w http.ResponseWriter, answer any) error {
	body, isDone := answer.([]byte)
	if !isDone {
		var err error
		if body, err = json.Marshal(answer); err != nil {
			return err
		}
	}
	header := w.Header()
	header.Set("Content-Type", wire.JSONType)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	_, err := w.Write(body)
	return err
}

// seconds rounds up, so that nobody comes back too early.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
