package holdhttp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/time/rate"
)

const (
	providerTimeout = 5 * time.Second
	providerBody    = 1 << 20 // bytes of an answer

	// Whoever sends tokens with invented keys makes us ask the provider no more often than this.
	providerEvery = 10 * time.Second
	providerBurst = 10
)

// provider reaches an OpenID Connect provider: seldom, with a limit, and nowhere else.
type provider struct{ client *http.Client }

func newProvider(transport http.RoundTripper) *provider {
	if transport == nil {
		transport = http.DefaultTransport
		if standard, ok := transport.(*http.Transport); ok {
			transport = standard.Clone()
		}
	}
	return &provider{&http.Client{
		Transport: &patient{RoundTripper: transport, limit: rate.NewLimiter(rate.Every(providerEvery), providerBurst)},
		Timeout:   providerTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("redirects are not followed")
		},
	}}
}

// discover returns the keys of the provider, which are fetched when they are needed.
// What the first caller waits for is not that caller's to break off: the client has a limit.
func (p *provider) discover(issuer string) (oidc.KeySet, error) {
	ctx := oidc.ClientContext(context.Background(), p.client)
	found, err := oidc.NewProvider(ctx, issuer)
	if err != nil {
		return nil, err
	}
	var document struct {
		Keys string `json:"jwks_uri"`
	}
	if err := found.Claims(&document); err != nil {
		return nil, err
	}
	if err := safeURL(document.Keys); err != nil {
		return nil, fmt.Errorf("address of the keys: %w", err)
	}
	return keySet{oidc.NewRemoteKeySet(ctx, document.Keys)}, nil
}

// providerError is a question to the provider that got no answer.
type providerError struct{ err error }

func (e *providerError) Error() string { return "ask the provider: " + e.err.Error() }
func (e *providerError) Unwrap() error { return e.err }

// patient is a RoundTripper that asks seldom, and takes nothing but a whole answer.
type patient struct {
	http.RoundTripper
	limit *rate.Limiter
}

// RoundTrip implements http.RoundTripper.
func (p *patient) RoundTrip(r *http.Request) (*http.Response, error) {
	if !p.limit.Allow() {
		return nil, &providerError{errors.New("it was asked too often")}
	}
	response, err := p.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, &providerError{err}
	}
	if response.StatusCode != http.StatusOK {
		return nil, &providerError{errors.Join(fmt.Errorf("status %d", response.StatusCode), response.Body.Close())}
	}
	body, err := wholeBody(response)
	if err != nil {
		return nil, &providerError{err}
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

// wholeBody reads an answer here, where what is wrong with it still has a type: the library
// would take it for a bad token.
func wholeBody(response *http.Response) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(response.Body, providerBody+1))
	switch err = errors.Join(err, response.Body.Close()); {
	case err != nil:
		return nil, err
	case len(body) > providerBody:
		return nil, fmt.Errorf("the answer is longer than %d bytes", providerBody)
	case !json.Valid(body):
		return nil, errors.New("the answer is not JSON")
	}
	return body, nil
}

// CloseIdleConnections is what http.Client looks for.
func (p *patient) CloseIdleConnections() {
	if closer, ok := p.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}

// safeURL refuses an address that anybody on the way could answer for.
func safeURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return errors.New("is not a URL")
	}
	if u.User != nil {
		return errors.New("must hold no credentials")
	}
	loopback := u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback()
	if u.Scheme != "https" && (u.Scheme != "http" || !loopback) {
		return errors.New("must be https, or on loopback")
	}
	return nil
}
