package holdhttp

import (
	"context"
	"errors"
	"net/http"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/hold/wire"
	"github.com/holdfast-dev/holdfast/outbox"
)

// fault is a problem on its way to the caller, and what only the log is told.
type fault struct {
	problem wire.Problem
	cause   error // nil when there is nothing to add
}

func (f *fault) Error() string { return f.problem.Title }
func (f *fault) Unwrap() error { return f.cause }

func problem(t wire.ProblemType) error { return &fault{problem: wire.NewProblem(t)} }

// invalid is a request that cannot be meant; argument says what of it.
func invalid(argument string) error {
	p := wire.NewProblem(wire.RequestInvalid)
	p.Argument = argument
	return &fault{problem: p}
}

// problemOf says what the caller is told of an error. Nothing of its text is.
func problemOf(err error) wire.Problem {
	var f *fault
	var refused *outbox.HoldRefusedError
	var argument *outbox.InvalidArgumentError
	switch {
	case errors.As(err, &f):
		return f.problem
	case errors.As(err, &refused):
		return wire.RefusalOf(refused)
	case errors.As(err, &argument) && argument.Argument != "isolation":
		p := wire.NewProblem(wire.RequestInvalid)
		p.Argument = argument.Argument
		return p
	case passes(err):
		return wire.NewProblem(wire.Unavailable)
	}
	return wire.NewProblem(wire.Internal)
}

// passes reports whether the same call may succeed later: the database said so by its SQLSTATE,
// or it said nothing.
func passes(err error) bool {
	var server *pgconn.PgError
	if !errors.As(err, &server) {
		return !errors.Is(err, outbox.ErrSchemaMissing)
	}
	switch server.Code[:min(2, len(server.Code))] {
	case "08", "40", "53", "57": // connection, transaction rolled back, resources, operator
		return true
	}
	return server.Code == "55P03" || server.Code == "25006" // lock not available, read-only: a failover
}

// writeProblem tells the caller what it may know of an error, and the log the rest.
func (h *Handler) writeProblem(ctx context.Context, w http.ResponseWriter, err error) {
	p := problemOf(err)
	switch {
	case p.Type == wire.Internal:
		h.cfg.Logger.ErrorContext(ctx, "control call failed", "error", err, "hint", outbox.Hint(err))
	case p.Status == http.StatusServiceUnavailable:
		h.cfg.Logger.WarnContext(ctx, "control call has no outcome yet", "error", err, "hint", outbox.Hint(err))
	}
	h.send(ctx, w, p)
}

func (h *Handler) send(ctx context.Context, w http.ResponseWriter, p wire.Problem) {
	switch p.Type {
	case wire.Unauthenticated:
		w.Header().Set("WWW-Authenticate", `Bearer realm="holdfast"`)
	case wire.RequestTooSlow, wire.RequestTooLarge:
		w.Header().Set("Connection", "close") // the rest of the body is not waited for
	case wire.Unavailable, wire.CompensationIncomplete:
		p.RetryAfter = max(p.RetryAfter, 1)
	}
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if err := p.Write(w); err != nil {
		h.cfg.Logger.DebugContext(ctx, "control answer not sent", "error", err)
	}
}
