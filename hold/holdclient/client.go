package holdclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/wire"
	"github.com/holdfast-dev/holdfast/outbox"
)

// Client calls the control surface of one participant. It is safe for concurrent use.
type Client struct {
	cfg    Config
	base   string
	origin string // scheme and host of base
	http   *http.Client
}

// New returns a client. It connects to nothing yet.
func New(cfg Config) (*Client, error) {
	cfg = cfg.withDefaults()
	base, err := cfg.validate()
	if err != nil {
		return nil, fmt.Errorf("configure hold client: %w", err)
	}
	u, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("configure hold client: %w", err)
	}
	return &Client{cfg: cfg, base: base, origin: u.Scheme + "://" + u.Host, http: cfg.client()}, nil
}

// Close ends the connections that are idle.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Expiry is when a generation is overdue if nobody has decided, and what happens then. The
// zero value is never.
type Expiry struct {
	At   time.Time
	Then hold.OnExpiry // defaults to hold.AlarmOnExpiry
}

// Register opens a generation, before the first write of the operation. One that exists is left
// as it is, and the answer says in which state it is: look at it, since it may be cancelled.
//
// Errors: [ErrUnknownOutcome], or a [*ProblemError]: outbox.ErrGenerationSuperseded,
// outbox.ErrGenerationUnknown, ErrNotPrincipal, ErrForbidden, ErrUnauthenticated, ErrInvalid.
func (c *Client) Register(ctx context.Context, h outbox.Hold, expiry Expiry) (wire.Answer, error) {
	request := wire.RegisterRequest{OnExpiry: string(expiry.Then)}
	if !expiry.At.IsZero() {
		at := expiry.At.UTC()
		request.ExpiresAt = &at
	}
	answer, err := call(ctx, c, http.MethodPost, wire.VerbPath(h, wire.Register), h, request,
		func(a wire.Answer) bool { return about(a, h, "") })
	return answer, explain("register", h, err)
}

// Release lets the held events of a generation go. reason is for the audit; it may be empty.
//
// Errors: as of Register, and outbox.ErrGenerationCancelled: the other decision was first.
func (c *Client) Release(ctx context.Context, h outbox.Hold, reason string) (wire.Answer, error) {
	answer, err := call(ctx, c, http.MethodPost, wire.VerbPath(h, wire.Release), h, wire.DecideRequest{Reason: reason},
		func(a wire.Answer) bool { return about(a, h, hold.Released) })
	return answer, explain("release", h, err)
}

// Cancel drops the held events of a generation, and has the participant undo its entities if
// it does so in the call. The answer lists those that were left to a person. reason is for the
// audit; it may be empty.
//
// Errors: as of Register, and outbox.ErrGenerationReleased: the other decision was first. A
// [*ProblemError] of the type wire.CompensationIncomplete, beside ErrUnknownOutcome, says that
// the generation is cancelled and that something is not undone yet.
func (c *Client) Cancel(ctx context.Context, h outbox.Hold, reason string) (wire.CancelAnswer, error) {
	answer, err := call(ctx, c, http.MethodPost, wire.VerbPath(h, wire.Cancel), h, wire.DecideRequest{Reason: reason},
		func(a wire.CancelAnswer) bool { return about(a.Answer, h, hold.Cancelled) })
	return answer, explain("cancel", h, err)
}

// Get shows a page of the generations of an operation. after is the NextAfter of the page
// before, 0 for the first.
//
// Errors: [ErrNotFound]: the participant knows no such operation. Others as of Register.
func (c *Client) Get(ctx context.Context, operation uuid.UUID, after int) (wire.Operation, error) {
	path := wire.OperationPath(operation)
	if after > 0 {
		path += "?" + wire.AfterQuery + "=" + strconv.Itoa(after)
	}
	answer, err := call(ctx, c, http.MethodGet, path, outbox.Hold{Operation: operation}, nil, func(o wire.Operation) bool { return o.Operation == operation })
	if err != nil {
		return wire.Operation{}, fmt.Errorf("get operation %s: %w", operation, err)
	}
	return answer, nil
}

// Do sends a held write of the participant's own interface: a request to the address of the
// client, with the identity of the step and the token. It makes one attempt, in the time of the
// request's context, and follows no redirect; whether to repeat it is for the caller, and
// harmless, since the participant keeps a receipt. A success is the caller's to read and close.
//
// Errors: a [*ProblemError] for an answer that is no success; others as of http.Client.
func (c *Client) Do(request *http.Request, step wire.Step) (*http.Response, error) {
	if to := request.URL; to.Scheme+"://"+to.Host != c.origin {
		return nil, fmt.Errorf("send step %s: the request is for another address than the client's", step.Key)
	}
	token, err := c.token(request.Context())
	if err != nil {
		return nil, fmt.Errorf("send step %s: %w", step.Key, err)
	}
	request = request.Clone(request.Context())
	step.Set(request.Header)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("send step %s: %w", step.Key, withoutAddress(err))
	}
	err = Problem(response)
	if p, ok := err.(*ProblemError); ok {
		p.held = true
	}
	if err := concerning(step.Hold(), err); err != nil {
		_ = response.Body.Close() // what was needed of it has been read
		return nil, fmt.Errorf("send step %s: %w", step.Key, err)
	}
	return response, nil
}

// about reports whether an answer is the one to a call: never a success without its effect.
func about(a wire.Answer, h outbox.Hold, state hold.GenerationState) bool {
	if a.Operation != h.Operation || a.Generation != h.Generation {
		return false
	}
	if state != "" {
		return a.State == string(state)
	}
	switch hold.GenerationState(a.State) {
	case hold.Active, hold.Released, hold.Cancelled:
		return true
	}
	return false
}

func explain(verb string, h outbox.Hold, err error) error {
	if err != nil {
		return fmt.Errorf("%s operation %s generation %d: %w", verb, h.Operation, h.Generation, err)
	}
	return nil
}

// errForeign is an answer that nobody gave who understood the call.
var errForeign = errors.New("the answer is not one to this call")

// concerning takes a problem that names another generation than h for the foreign answer that it is. In h a
// generation of 0 is any.
func concerning(h outbox.Hold, err error) error {
	var p *ProblemError
	if !errors.As(err, &p) || p.Operation == uuid.Nil {
		return err
	}
	if p.Operation != h.Operation || h.Generation != 0 && p.Generation != h.Generation {
		return errForeign
	}
	return err
}

// call makes attempts until one has an outcome. h is what it is about, right judges what was answered.
func call[T any](ctx context.Context, c *Client, method, path string, h outbox.Hold, request any, right func(T) bool) (T, error) {
	var none T
	var body []byte
	if request != nil {
		var err error
		if body, err = json.Marshal(request); err != nil {
			return none, err
		}
	}
	renewed := false // a token was replaced once
	for attempt, pause := 1, c.cfg.Backoff; ; attempt, pause = attempt+1, min(2*pause, c.cfg.MaxBackoff) {
		token, err := c.token(ctx)
		if err != nil {
			return none, err
		}
		var answer T
		err = concerning(h, c.try(ctx, method, path, token, body, &answer))
		if err == nil && right(answer) {
			return answer, nil
		}
		if err == nil {
			err = errForeign
		}
		var p *ProblemError
		var wait time.Duration
		if errors.As(err, &p) {
			wait = p.RetryAfter
			if !p.Retryable() {
				if renewed || attempt == c.cfg.Attempts || p.Status != http.StatusUnauthorized || !c.hasOther(ctx, token) {
					return none, err
				}
				renewed = true
			}
		}
		if attempt == c.cfg.Attempts || wait > c.cfg.MaxWait {
			return none, unknown(err, p)
		}
		if err := sleep(ctx, max(wait, pause/2+rand.N(pause/2+1))); err != nil {
			return none, fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
		}
	}
}

// unknown is the end of a call that may have happened. One that was turned away has not.
func unknown(err error, p *ProblemError) error {
	if p != nil && p.Status == http.StatusTooManyRequests {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
}

func (c *Client) token(ctx context.Context) (string, error) {
	if c.cfg.Token == nil {
		return "", nil
	}
	return c.cfg.Token(ctx)
}

// hasOther reports whether the source has another token by now.
func (c *Client) hasOther(ctx context.Context, token string) bool {
	again, err := c.token(ctx)
	return err == nil && again != token
}

// try makes one attempt.
func (c *Client) try(ctx context.Context, method, path, token string, body []byte, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Accept", wire.JSONType+", "+wire.ProblemContentType)
	if body != nil {
		request.Header.Set("Content-Type", wire.JSONType)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return withoutAddress(err)
	}
	defer func() { _ = response.Body.Close() }() // what was needed of it has been read
	if err := Problem(response); err != nil {
		return err
	}
	return decode(response, answer)
}

// withoutAddress is an error of http.Client without the address that was asked.
func withoutAddress(err error) error {
	var failed *url.Error
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

// decode reads the body of a success. Its members may be more than are known here.
func decode(response *http.Response, answer any) error {
	media, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil || media != wire.JSONType || response.StatusCode != http.StatusOK {
		return errForeign
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return err
	}
	if len(text) > maxAnswer || json.Unmarshal(text, answer) != nil {
		return errForeign
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
