package holdclient

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// TokenSource returns the bearer token of a call. It is asked for each attempt, must be safe for
// concurrent use, and keeps what it fetches; its errors must hold no token.
type TokenSource func(ctx context.Context) (string, error)

// StaticToken is a source that always returns the same token.
func StaticToken(token string) TokenSource {
	return func(context.Context) (string, error) { return token, nil }
}

// TokenFile is a source that reads a file for every attempt, so that a token may be replaced
// while the client runs. Space around the token is not part of it.
func TokenFile(path string) TokenSource {
	return func(context.Context) (string, error) {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("read token: %w", err)
		}
		token := strings.TrimSpace(string(text))
		if token == "" {
			return "", fmt.Errorf("read token: %s is empty", path)
		}
		return token, nil
	}
}

// Config are the settings of a [Client]. The zero value of a field means its default; URL is
// needed.
type Config struct {
	// URL is where the participant's surface is, without its /v1/internal, such as
	// https://persons.example.org. It holds no credentials.
	URL string
	// Token is the source of bearer tokens. Defaults to none: then TLS has a certificate.
	Token TokenSource
	// TLS has the authorities that are trusted, and the client's certificate. Defaults to the
	// system's authorities and no certificate.
	TLS *tls.Config
	// Plaintext permits http:// to other hosts than loopback, where something else encrypts.
	Plaintext bool

	// Timeout is how long one attempt may take. Defaults to 20 seconds, more than the surface
	// takes for a call.
	Timeout time.Duration
	// Attempts is how often a call is made at most. Defaults to 4.
	Attempts int
	// Backoff is the pause before the second attempt; it doubles, up to MaxBackoff. The pause is
	// chosen at random between half of it and all. Default to 200 milliseconds and 5 seconds.
	Backoff, MaxBackoff time.Duration
	// MaxWait is the longest Retry-After that is waited for; with a longer one the call ends.
	// Defaults to 30 seconds.
	MaxWait time.Duration
}

func (c Config) withDefaults() Config {
	set := func(d *time.Duration, standard time.Duration) {
		if *d == 0 {
			*d = standard
		}
	}
	set(&c.Timeout, 20*time.Second)
	set(&c.Backoff, 200*time.Millisecond)
	set(&c.MaxBackoff, max(c.Backoff, 5*time.Second))
	set(&c.MaxWait, 30*time.Second)
	if c.Attempts == 0 {
		c.Attempts = 4
	}
	return c
}

// validate returns the address, without a slash at its end.
func (c Config) validate() (string, error) {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return "", errors.New("url: must be https://host")
	case u.User != nil:
		return "", errors.New("url: must hold no credentials; use Token or TLS")
	case u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("url: must have neither a query nor a fragment")
	case u.Scheme == "http" && !c.Plaintext && u.Hostname() != "localhost" && !net.ParseIP(u.Hostname()).IsLoopback():
		return "", errors.New("url: must be https, unless it is on loopback or Plaintext is set")
	case c.Timeout <= 0 || c.Backoff <= 0 || c.MaxBackoff < c.Backoff || c.MaxWait <= 0 || c.Attempts <= 0:
		return "", errors.New("timeout, attempts, backoff and waits must be positive, and the longest backoff not shorter than the first")
	}
	return strings.TrimRight(u.String(), "/"), nil
}

func (c Config) client() *http.Client {
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSClientConfig: c.TLS.Clone(),
		MaxIdleConnsPerHost: 4, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
