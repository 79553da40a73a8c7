package holdhttp_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha512"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/holdfast-dev/holdfast/hold/holdhttp"
	"github.com/holdfast-dev/holdfast/hold/wire"
)

// An algorithm that is sound and that nobody asked for is refused, also with the right key.
func TestOnlyTheChosenAlgorithmsAreTaken(t *testing.T) {
	t.Parallel()
	b, i := setupJWT(t)
	key := rsaKey(t)
	for algorithm, sign := range map[string]func(digest []byte) ([]byte, error){
		"RS512": func(digest []byte) ([]byte, error) { return rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA512, digest) },
		"PS512": func(digest []byte) ([]byte, error) {
			return rsa.SignPSS(rand.Reader, key, crypto.SHA512, digest, &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash})
		},
	} {
		text := unsigned(t, map[string]any{"alg": algorithm, "kid": "rsa-1", "typ": "JWT"}, i.claims())
		digest := sha512.Sum512([]byte(text))
		signature, err := sign(digest[:])
		if err != nil {
			t.Fatal(err)
		}
		token := text + "." + encode(signature)
		wantProblem(t, b.get(t, token), http.StatusUnauthorized, wire.Unauthenticated)
		// The token is good where its algorithm was chosen.
		judge, err := holdhttp.NewJWT(holdhttp.JWTConfig{Issuer: i.URL, Audience: "participant", Algorithms: []string{algorithm}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(judge.Close)
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		if caller, err := judge.Authenticate(r); err != nil || caller.Name != "checkout" {
			t.Errorf("%s where it was chosen: %+v, %v", algorithm, caller, err)
		}
		r.Header.Set("Authorization", "Bearer "+i.token(t, "rsa-1", key, i.claims()))
		if _, err := judge.Authenticate(r); err == nil {
			t.Errorf("RS256 is taken where %s was chosen", algorithm)
		}
	}
}

// A provider that sends somewhere else, or too much, or never ends, is not one: nobody is let in, and nobody else is asked.
func TestProviderIsAskedNowhereElse(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	var asked atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if strings.HasSuffix(r.URL.Path, "/keys") {
			i.write(w, map[string]any{"keys": i.public()})
		}
	}))
	t.Cleanup(elsewhere.Close)
	long := strings.Repeat("x", 2<<20)
	for name, c := range map[string]struct {
		discovery func(w http.ResponseWriter, r *http.Request, issuer string)
		keys      func(w http.ResponseWriter, r *http.Request)
	}{
		"discovery is redirected": {discovery: func(w http.ResponseWriter, r *http.Request, _ string) {
			http.Redirect(w, r, elsewhere.URL, http.StatusFound)
		}},
		"keys are redirected": {keys: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+"/keys", http.StatusTemporaryRedirect)
		}},
		"keys without TLS": {discovery: func(w http.ResponseWriter, _ *http.Request, issuer string) {
			i.write(w, map[string]any{"issuer": issuer, "jwks_uri": "http://keys.example.org/keys"})
		}},
		"a discovery without end": {discovery: func(w http.ResponseWriter, r *http.Request, _ string) {
			_, _ = w.Write([]byte("{"))
			_ = http.NewResponseController(w).Flush() // to a client that is still there
			<-r.Context().Done()
		}},
		"a long discovery": {discovery: func(w http.ResponseWriter, _ *http.Request, issuer string) {
			i.write(w, map[string]any{"issuer": issuer, "jwks_uri": issuer + "/keys", "x": long})
		}},
		"keys that are a page": {keys: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>log in</html>")) }},
		"long keys": {keys: func(w http.ResponseWriter, _ *http.Request) {
			i.write(w, map[string]any{"keys": i.public(), "x": long})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bent := bentIssuer(t, i, c.discovery, c.keys)
			transport := &elsewhereToo{asked: &asked, hosts: []string{bent.Listener.Addr().String(), elsewhere.Listener.Addr().String()}}
			judge, err := holdhttp.NewJWT(holdhttp.JWTConfig{Issuer: bent.URL, Audience: "participant", Algorithms: []string{"RS256"}, Transport: transport})
			if err != nil {
				t.Fatal(err)
			}
			b := setup(t, func(c *holdhttp.Config) { c.Authenticators = []holdhttp.Authenticator{judge} })
			token := i.token(t, "rsa-1", i.keys["rsa-1"], i.claims(func(c map[string]any) { c["iss"] = bent.URL }))
			wantProblem(t, b.post(t, token, b.hold, wire.Register), http.StatusServiceUnavailable, wire.Unavailable)
		})
	}
	t.Cleanup(func() {
		if n := asked.Load(); n != 0 {
			t.Errorf("somebody else was asked %d times", n)
		}
	})
}

// bentIssuer is a provider with the keys of another one, and answers of its own.
func bentIssuer(t *testing.T, i *issuer, discovery func(http.ResponseWriter, *http.Request, string), keys func(http.ResponseWriter, *http.Request)) *httptest.Server {
	t.Helper()
	var bent *httptest.Server
	bent = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		isKeys := strings.HasSuffix(r.URL.Path, "/keys")
		switch {
		case isKeys && keys != nil:
			keys(w, r)
		case isKeys:
			i.write(w, map[string]any{"keys": i.public()})
		case discovery != nil:
			discovery(w, r, bent.URL)
		default:
			i.write(w, map[string]any{"issuer": bent.URL, "jwks_uri": bent.URL + "/keys"})
		}
	}))
	t.Cleanup(bent.Close)
	return bent
}

// elsewhereToo is a transport that notes whoever is asked beside the known hosts, and asks nobody there.
type elsewhereToo struct {
	http.Transport
	asked *atomic.Int64
	hosts []string
}

func (e *elsewhereToo) RoundTrip(r *http.Request) (*http.Response, error) {
	for _, host := range e.hosts {
		if r.URL.Host == host {
			return e.Transport.RoundTrip(r)
		}
	}
	e.asked.Add(1)
	return nil, http.ErrServerClosed
}
