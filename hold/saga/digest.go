package saga

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
)

// MinDigestKey is the shortest key of a digest, in bytes.
const MinDigestKey = 32

// domain keeps digests of requests apart from anything else that the key might be used for.
const domain = "holdfast/saga/request/v1"

// Keys are the secrets of digests. One is current; the others are known as long as operations
// that were pinned with them can be resumed. Safe for concurrent use.
type Keys struct {
	current string
	secrets map[string][]byte
}

// NewKeys returns the keys: current is the id of the one for new digests. An id has 1 to 64 bytes,
// a secret [MinDigestKey] at least. To rotate, add a key everywhere, then make it current
// everywhere, and remove the old one when the longest operation has ended. Errors: [*ConfigError].
func NewKeys(current string, secrets map[string][]byte) (*Keys, error) {
	k := &Keys{current: current, secrets: map[string][]byte{}}
	var problems []string
	for _, id := range slices.Sorted(maps.Keys(secrets)) {
		if len(id) < 1 || len(id) > 64 {
			problems = append(problems, fmt.Sprintf("digest key id %q: must be 1 to 64 bytes", id))
		}
		if len(secrets[id]) < MinDigestKey {
			problems = append(problems, fmt.Sprintf("digest key %q: must be %d bytes at least", id, MinDigestKey))
		}
		k.secrets[id] = slices.Clone(secrets[id])
	}
	if _, known := k.secrets[current]; !known {
		problems = append(problems, fmt.Sprintf("digest key %q: is current and not among the keys", current))
	}
	if problems != nil {
		return nil, &ConfigError{problems}
	}
	return k, nil
}

// Digest is a request as its keyed digest sees it. The zero value is none. It holds the
// request's content: do not log it.
type Digest struct {
	keys    *Keys
	message []byte
}

// Digest returns the digest of a request of a kind of operation. The request is all that the
// client sent, typed: see [Canonical] for what makes two of them different.
func (k *Keys) Digest(kind string, request any) (Digest, error) {
	form, err := Canonical(request)
	if err != nil {
		return Digest{}, fmt.Errorf("digest request: %w", err)
	}
	message := appendPart(nil, 'd', []byte(domain))
	message = appendPart(message, 'k', []byte(kind))
	return Digest{keys: k, message: append(message, form...)}, nil
}

// IsZero reports whether there is no request.
func (d Digest) IsZero() bool { return d.keys == nil }

// KeyID returns the id of the current key.
func (d Digest) KeyID() string { return d.keys.current }

// Sum returns the HMAC-SHA-256 with the current key: 32 bytes.
func (d Digest) Sum() []byte { return d.sum(d.keys.secrets[d.keys.current]) }

// Matches reports whether sum is the digest of the same request, made with the key of that id.
// Errors: [ErrDigestKeyUnknown].
func (d Digest) Matches(keyID string, sum []byte) (bool, error) {
	secret, known := d.keys.secrets[keyID]
	if !known {
		return false, fmt.Errorf("compare digests: %w: %q", ErrDigestKeyUnknown, keyID)
	}
	return hmac.Equal(d.sum(secret), sum), nil
}

func (d Digest) sum(secret []byte) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write(d.message)
	return mac.Sum(nil)
}
