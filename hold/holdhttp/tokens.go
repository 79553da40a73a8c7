package holdhttp

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net/http"
)

// Token is a static bearer token, by its hash, and who has it.
type Token struct {
	// SHA256 is what [HashToken] returned: 64 hexadecimal digits. Tokens must be random, of 16
	// bytes at least: the hash keeps them from being read, not from being guessed.
	SHA256 string
	Caller Caller
}

// Tokens authenticates by static bearer tokens, for development and small installations. Keep
// nothing but hashes in the configuration. A bearer token that is none of them is left to the
// next authenticator. Safe for concurrent use.
type Tokens struct {
	hashes  [][sha256.Size]byte
	callers []Caller
}

// HashToken returns what [Token] keeps of a token.
func HashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// NewTokens returns an authenticator. Errors: [*ConfigError].
func NewTokens(tokens ...Token) (*Tokens, error) {
	t := &Tokens{}
	var problems []string
	seen := map[[sha256.Size]byte]bool{}
	for i, token := range tokens {
		raw, err := hex.DecodeString(token.SHA256)
		if err != nil || len(raw) != sha256.Size {
			problems = append(problems, fmt.Sprintf("token %d: its hash is not 64 hexadecimal digits", i))
			continue
		}
		sum := [sha256.Size]byte(raw)
		switch {
		case sum == sha256.Sum256(nil):
			problems = append(problems, fmt.Sprintf("token %d: is empty", i))
		case seen[sum]:
			problems = append(problems, fmt.Sprintf("token %d: is there twice", i))
		case !validName(token.Caller.Name):
			problems = append(problems, fmt.Sprintf("token %d: its caller has no valid name", i))
		}
		seen[sum] = true
		t.hashes, t.callers = append(t.hashes, sum), append(t.callers, token.Caller)
	}
	if len(tokens) == 0 {
		problems = append(problems, "no token")
	}
	if problems != nil {
		return nil, &ConfigError{problems}
	}
	return t, nil
}

// Authenticate implements [Authenticator]. It compares with every token, and takes the same
// time whichever it is.
func (t *Tokens) Authenticate(r *http.Request) (Caller, error) {
	token, err := bearer(r)
	if err != nil {
		return Caller{}, err
	}
	sum := sha256.Sum256([]byte(token))
	found := -1
	for i := range t.hashes {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(sum[:], t.hashes[i][:]), i, found)
	}
	if found < 0 {
		return Caller{}, ErrNoCredentials
	}
	return t.callers[found], nil
}
