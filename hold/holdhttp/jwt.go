package holdhttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/coreos/go-oidc/v3/oidc"
)

// JWTConfig are the settings of [JWT]. Issuer, Audience and Algorithms are needed.
type JWTConfig struct {
	// Issuer is the URL of the OpenID Connect provider, exactly as its tokens have it. It is
	// asked for its keys, and must be https, unless it is on loopback.
	Issuer string
	// Audience is what a token must be meant for: this service.
	Audience string
	// Algorithms are those by which a token may be signed, such as RS256 and ES256. Only
	// asymmetric ones are possible.
	Algorithms []string

	// CallerClaim is the claim that is the caller's name. Defaults to "sub". It must be one
	// that the provider alone decides; azp is refused.
	CallerClaim string
	// Prefix is put in front of the claim. Two providers need different ones, so that the
	// name of one is never that of the other's. Defaults to none.
	Prefix string
	// RolesClaim is the path to the claim with the roles: a list of texts, or one text with
	// spaces between them. Defaults to "roles".
	RolesClaim []string

	// Transport reaches the provider. Defaults to a copy of http.DefaultTransport.
	Transport http.RoundTripper
}

// JWT authenticates by bearer tokens that are signed JWTs of one OpenID Connect provider. It
// finds the provider's keys by discovery when the first token comes, and looks again, ten
// times in a row and then every ten seconds at most, when a token has a key that it does not know. While the provider
// cannot be reached, tokens with a known key are judged all the same, others are told to come
// again. Safe for concurrent use.
type JWT struct {
	cfg      JWTConfig
	provider *provider

	mu       sync.Mutex            // guards verifier
	verifier *oidc.IDTokenVerifier // nil until the provider was found
}

// algorithms are those whose key a verifier cannot sign with.
var algorithms = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA,
}

// NewJWT returns an authenticator. It connects to nothing yet. Errors: [*ConfigError].
func NewJWT(cfg JWTConfig) (*JWT, error) {
	var problems []string
	if err := safeURL(cfg.Issuer); err != nil {
		problems = append(problems, "issuer: "+err.Error())
	}
	if cfg.Audience == "" {
		problems = append(problems, "no audience: tokens for any service would do")
	}
	if len(cfg.Algorithms) == 0 {
		problems = append(problems, "no algorithms: the token would choose")
	}
	for _, name := range cfg.Algorithms {
		if !slices.Contains(algorithms, name) {
			problems = append(problems, fmt.Sprintf("algorithm %q: must be one of %s", name, strings.Join(algorithms, ", ")))
		}
	}
	if cfg.CallerClaim == "" {
		cfg.CallerClaim = "sub"
	}
	if cfg.RolesClaim == nil {
		cfg.RolesClaim = []string{"roles"}
	}
	if cfg.CallerClaim == "azp" || slices.Contains(cfg.RolesClaim, "azp") {
		problems = append(problems, "azp: is whom a token was issued to, and grants nothing")
	}
	if problems != nil {
		return nil, &ConfigError{problems}
	}
	return &JWT{cfg: cfg, provider: newProvider(cfg.Transport)}, nil
}

// jwt is the only form in which a token is taken: a header, claims and a signature.
var jwt = regexp.MustCompile(`^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$`)

// Authenticate implements [Authenticator]. A bearer token that is no JWT is left to the next.
func (j *JWT) Authenticate(r *http.Request) (Caller, error) {
	token, err := bearer(r)
	if err != nil {
		return Caller{}, err
	}
	if !jwt.MatchString(token) {
		return Caller{}, ErrNoCredentials
	}
	verifier, err := j.found()
	if err != nil {
		return Caller{}, fmt.Errorf("find the provider: %w", err)
	}
	var fetch fetchError
	verified, err := verifier.Verify(context.WithValue(r.Context(), fetchKey{}, &fetch), token)
	if fetch.err != nil {
		return Caller{}, fmt.Errorf("fetch the provider's keys: %w", fetch.err)
	}
	if err != nil {
		return Caller{}, ErrBadCredentials // the cause may quote the token
	}
	claims := map[string]any{}
	if err := verified.Claims(&claims); err != nil {
		return Caller{}, ErrBadCredentials
	}
	name, isText := claims[j.cfg.CallerClaim].(string)
	if !isText || name == "" {
		return Caller{}, ErrBadCredentials
	}
	return Caller{Name: j.cfg.Prefix + name, Roles: rolesAt(claims, j.cfg.RolesClaim)}, nil
}

// found returns the verifier, and looks for the provider before the first time. Those who come
// meanwhile wait.
func (j *JWT) found() (*oidc.IDTokenVerifier, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.verifier != nil {
		return j.verifier, nil
	}
	keys, err := j.provider.discover(j.cfg.Issuer)
	if err != nil {
		return nil, err
	}
	j.verifier = oidc.NewVerifier(j.cfg.Issuer, keys, &oidc.Config{
		ClientID: j.cfg.Audience, SupportedSigningAlgs: j.cfg.Algorithms,
	})
	return j.verifier, nil
}

// Close ends the connections to the provider that are idle.
func (j *JWT) Close() { j.provider.client.CloseIdleConnections() }

func rolesAt(claims map[string]any, path []string) []string {
	var value any = claims
	for _, name := range path {
		object, isObject := value.(map[string]any)
		if !isObject {
			return nil
		}
		value = object[name]
	}
	switch roles := value.(type) {
	case string:
		return strings.Fields(roles)
	case []any:
		var all []string
		for _, role := range roles {
			if text, isText := role.(string); isText {
				all = append(all, text)
			}
		}
		return all
	}
	return nil
}

// fetchKey is where the context of a verification has its fetchError.
type fetchKey struct{}

// fetchError is why keys could not be had. The library gives no type to it, and it must not be
// taken for a bad token.
type fetchError struct{ err error }

// keySet notes why keys could not be had.
type keySet struct{ oidc.KeySet }

// VerifySignature implements oidc.KeySet.
func (k keySet) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	payload, err := k.KeySet.VerifySignature(ctx, token)
	var failed *providerError
	if note, ok := ctx.Value(fetchKey{}).(*fetchError); ok && err != nil && (errors.As(err, &failed) || ctx.Err() != nil) {
		note.err = err
	}
	return payload, err
}
