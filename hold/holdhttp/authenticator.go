package holdhttp

import (
	"errors"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Caller is who makes a request.
type Caller struct {
	// Name is the exact identity, by which callers are allowed and generations belong: 1 to
	// 255 bytes of UTF-8 without control characters. It is kept in the audit.
	Name  string
	Roles []string
}

// Authenticator says who makes a request. It must be safe for concurrent use and heed the
// context of the request. Its errors are never shown to the caller and must hold no credential:
//
//   - ErrNoCredentials: the request has none of the kind that it knows; the next one is asked.
//   - ErrBadCredentials: it has some, and they are not good.
//   - any other: it cannot be said now; the caller is told to try again.
type Authenticator interface {
	Authenticate(r *http.Request) (Caller, error)
}

// Sentinels of an [Authenticator], for errors.Is.
var (
	ErrNoCredentials  = errors.New("no credentials of this kind")
	ErrBadCredentials = errors.New("credentials are not good")
)

// authenticate asks one authenticator after the other.
func authenticate(all []Authenticator, r *http.Request) (Caller, error) {
	for _, a := range all {
		caller, err := a.Authenticate(r)
		if errors.Is(err, ErrNoCredentials) {
			continue
		}
		if err != nil {
			return Caller{}, err
		}
		if !validName(caller.Name) {
			return Caller{}, ErrBadCredentials
		}
		return caller, nil
	}
	return Caller{}, ErrNoCredentials
}

// maxToken is the size of the largest token, in bytes.
const maxToken = 16 << 10

// bearer returns the token of the Authorization header. A request with two of them, or with a
// token that cannot be one, is refused.
func bearer(r *http.Request) (string, error) {
	values := r.Header.Values("Authorization")
	if len(values) == 0 {
		return "", ErrNoCredentials
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if len(values) > 1 {
		return "", ErrBadCredentials
	}
	if !strings.EqualFold(scheme, "Bearer") {
		return "", ErrNoCredentials
	}
	if token == "" || len(token) > maxToken || strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c >= 0x7f }) {
		return "", ErrBadCredentials
	}
	return token, nil
}

func validName(name string) bool {
	return name != "" && len(name) <= 255 && utf8.ValidString(name) && !strings.ContainsFunc(name, unicode.IsControl)
}
