package holdhttp_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// issuer is an OpenID Connect provider: discovery, keys, and tokens that are really signed.
type issuer struct {
	*httptest.Server
	away    atomic.Bool  // it answers with 500
	fetches atomic.Int64 // of keys

	mu   sync.Mutex // guards keys
	keys map[string]crypto.Signer
}

func newIssuer(t testing.TB) *issuer {
	t.Helper()
	i := &issuer{keys: map[string]crypto.Signer{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		i.write(w, map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys", "id_token_signing_alg_values_supported": []string{"RS256", "ES256"}})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		i.fetches.Add(1)
		i.write(w, map[string]any{"keys": i.public()})
	})
	i.Server = httptest.NewServer(mux)
	i.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	t.Cleanup(i.Close)
	i.add(t, "rsa-1", rsaKey(t))
	return i
}

func (i *issuer) write(w http.ResponseWriter, value any) {
	if i.away.Load() {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // to a client that may be gone
}

func (i *issuer) add(t testing.TB, id string, key crypto.Signer) {
	t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys[id] = key
}

func (i *issuer) remove(id string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.keys, id)
}

// rsaKeys are made once: it takes long.
var rsaKeys = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

func rsaKey(t testing.TB) *rsa.PrivateKey {
	t.Helper()
	key, err := rsaKeys()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func ecKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func encode(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

func (i *issuer) public() []map[string]any {
	i.mu.Lock()
	defer i.mu.Unlock()
	all := []map[string]any{}
	for id, key := range i.keys {
		switch public := key.Public().(type) {
		case *rsa.PublicKey:
			all = append(all, map[string]any{"kty": "RSA", "use": "sig", "kid": id, "alg": "RS256",
				"n": encode(public.N.Bytes()), "e": encode(big.NewInt(int64(public.E)).Bytes())})
		case *ecdsa.PublicKey:
			point, _ := public.Bytes() // a point of the curve
			all = append(all, map[string]any{"kty": "EC", "use": "sig", "kid": id, "alg": "ES256", "crv": "P-256",
				"x": encode(point[1:33]), "y": encode(point[33:])})
		}
	}
	return all
}

// claims are those of a good token for the service.
func (i *issuer) claims(change ...func(map[string]any)) map[string]any {
	c := map[string]any{
		"iss": i.URL, "aud": []string{"other", "participant"}, "sub": "checkout", "azp": "checkout",
		"roles": []string{"reader", "service"}, "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
	}
	for _, f := range change {
		f(c)
	}
	return c
}

// token signs claims.
func (i *issuer) token(t testing.TB, kid string, key crypto.Signer, claims map[string]any) string {
	t.Helper()
	algorithm := "RS256"
	if _, is := key.(*ecdsa.PrivateKey); is {
		algorithm = "ES256"
	}
	text := unsigned(t, map[string]any{"alg": algorithm, "kid": kid, "typ": "JWT"}, claims)
	digest := sha256.Sum256([]byte(text))
	switch key := key.(type) {
	case *rsa.PrivateKey:
		signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, digest[:])
		if err != nil {
			t.Fatal(err)
		}
		return text + "." + encode(signature)
	case *ecdsa.PrivateKey:
		r, s, err := ecdsa.Sign(rand.Reader, key, digest[:])
		if err != nil {
			t.Fatal(err)
		}
		return text + "." + encode(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...))
	}
	t.Fatalf("no way to sign with %T", key)
	return ""
}

func unsigned(t testing.TB, header, claims map[string]any) string {
	t.Helper()
	head, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	return encode(head) + "." + encode(body)
}

// confused signs by HS256, with the public key of an RSA key as the secret.
func confused(t testing.TB, key *rsa.PrivateKey, claims map[string]any) []string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	text := unsigned(t, map[string]any{"alg": "HS256", "kid": "rsa-1", "typ": "JWT"}, claims)
	var all []string
	for _, secret := range [][]byte{der, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), key.N.Bytes()} {
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(text))
		all = append(all, text+"."+encode(mac.Sum(nil)))
	}
	return all
}
