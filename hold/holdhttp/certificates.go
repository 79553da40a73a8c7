package holdhttp

import (
	"fmt"
	"net/http"
	"net/url"
)

// Certificates authenticates by client certificates that the server's TLS has verified, by the
// one URI in their subject alternative names, compared whole. The server must ask for them, with
// tls.RequireAndVerifyClientCert or VerifyClientCertIfGiven, and trust the right authority only.
// Safe for concurrent use.
type Certificates struct{ callers map[string]Caller }

// NewCertificates returns an authenticator for callers by URI, such as
// spiffe://example.org/checkout. Errors: [*ConfigError].
func NewCertificates(callers map[string]Caller) (*Certificates, error) {
	c := &Certificates{callers: map[string]Caller{}}
	var problems []string
	for uri, caller := range callers {
		u, err := url.Parse(uri)
		if err != nil || u.Scheme == "" || u.String() != uri {
			problems = append(problems, fmt.Sprintf("certificate %q: is not a URI in its plain form", uri))
		}
		if !validName(caller.Name) {
			problems = append(problems, fmt.Sprintf("certificate %q: its caller has no valid name", uri))
		}
		c.callers[uri] = caller
	}
	if len(callers) == 0 {
		problems = append(problems, "no certificate")
	}
	if problems != nil {
		return nil, &ConfigError{problems}
	}
	return c, nil
}

// Authenticate implements [Authenticator]. A certificate that is not among the callers, has no
// URI, or more than one, is refused; one that the server did not verify is none.
func (c *Certificates) Authenticate(r *http.Request) (Caller, error) {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 || len(r.TLS.VerifiedChains[0]) == 0 {
		return Caller{}, ErrNoCredentials
	}
	uris := r.TLS.VerifiedChains[0][0].URIs
	if len(uris) != 1 {
		return Caller{}, ErrBadCredentials
	}
	caller, known := c.callers[uris[0].String()]
	if !known {
		return Caller{}, ErrBadCredentials
	}
	return caller, nil
}
