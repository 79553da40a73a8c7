package holdhttp_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/hold/holdhttp"
	"github.com/holdfast-dev/holdfast/hold/wire"
)

// setupJWT serves the surface with tokens of an issuer; change may alter how they are judged.
func setupJWT(t testing.TB, change ...func(*holdhttp.JWTConfig)) (*testBundle, *issuer) {
	t.Helper()
	i := newIssuer(t)
	cfg := holdhttp.JWTConfig{Issuer: i.URL, Audience: "participant", Algorithms: []string{"RS256", "ES256"}}
	for _, c := range change {
		c(&cfg)
	}
	judge, err := holdhttp.NewJWT(cfg)
	if err != nil {
		t.Fatal(err)
	}
	b := setup(t, func(c *holdhttp.Config) { c.Authenticators = []holdhttp.Authenticator{judge, tokens(t)} })
	t.Cleanup(judge.Close)
	return b, i
}

func TestTokenOfTheProviderIsGood(t *testing.T) {
	t.Parallel()
	b, i := setupJWT(t)
	i.add(t, "ec-1", ecKey(t))
	for _, token := range []string{
		i.token(t, "rsa-1", i.keys["rsa-1"], i.claims()),
		i.token(t, "ec-1", i.keys["ec-1"], i.claims()),
		i.token(t, "rsa-1", i.keys["rsa-1"], i.claims(func(c map[string]any) { c["aud"], c["roles"] = "participant", "reader service" })),
		checkout, // the static one, of the next authenticator
	} {
		if got := b.post(t, token, b.hold, wire.Register); got.status != http.StatusOK {
			t.Errorf("register: %+v", got)
		}
	}
	if diff := cmp.Diff([]string{"1 register checkout"}, b.audit(t)); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}

func TestTokensThatAreNotGood(t *testing.T) {
	t.Parallel()
	b, i := setupJWT(t)
	key := i.keys["rsa-1"]
	signed := func(change func(map[string]any)) string { return i.token(t, "rsa-1", key, i.claims(change)) }
	good := signed(func(map[string]any) {})
	cut := strings.Split(good, ".")
	bad := map[string]string{
		"expired":         signed(func(c map[string]any) { c["exp"] = time.Now().Add(-time.Minute).Unix() }),
		"without expiry":  signed(func(c map[string]any) { delete(c, "exp") }),
		"not yet":         signed(func(c map[string]any) { c["nbf"] = time.Now().Add(time.Hour).Unix() }),
		"other audience":  signed(func(c map[string]any) { c["aud"] = "participants" }),
		"no audience":     signed(func(c map[string]any) { delete(c, "aud") }),
		"azp as audience": signed(func(c map[string]any) { c["aud"], c["azp"] = "other", "participant" }),
		"other issuer":    signed(func(c map[string]any) { c["iss"] = i.URL + "/" }),
		"no issuer":       signed(func(c map[string]any) { delete(c, "iss") }),
		"no caller":       signed(func(c map[string]any) { delete(c, "sub") }),
		"caller a number": signed(func(c map[string]any) { c["sub"] = 7 }),
		"caller too long": signed(func(c map[string]any) { c["sub"] = strings.Repeat("x", 256) }),
		"alg none":        unsigned(t, map[string]any{"alg": "none"}, i.claims()) + ".",
		"alg None":        unsigned(t, map[string]any{"alg": "None"}, i.claims()) + ".",
		"alg none, kid":   unsigned(t, map[string]any{"alg": "none", "kid": "rsa-1"}, i.claims()) + "." + cut[2],
		"no signature":    cut[0] + "." + cut[1] + ".",
		"changed claims":  cut[0] + "." + strings.Split(signed(func(c map[string]any) { c["sub"] = "billing" }), ".")[1] + "." + cut[2],
		"changed header":  strings.Split(unsigned(t, map[string]any{"alg": "ES256", "kid": "rsa-1"}, nil), ".")[0] + "." + cut[1] + "." + cut[2],
		"other key":       i.token(t, "rsa-1", ecKey(t), i.claims()),
		"as json":         `{"payload":"` + cut[1] + `","protected":"` + cut[0] + `","signature":"` + cut[2] + `"}`,
		"two parts":       cut[0] + "." + cut[1],
		"not base64":      "a.b.c",
		"huge":            good + strings.Repeat("A", 20_000),
	}
	for n, token := range confused(t, rsaKey(t), i.claims()) {
		bad["HS256 with the public key "+string(rune('a'+n))] = token
	}
	if got := b.get(t, good); got.status != http.StatusNotFound {
		t.Fatalf("the good token gets %+v", got)
	}
	for name, token := range bad {
		got := b.post(t, token, b.hold, wire.Register)
		if got.status != http.StatusUnauthorized {
			t.Errorf("%s: answer is %+v", name, got)
			continue
		}
		wantProblem(t, got, http.StatusUnauthorized, wire.Unauthenticated)
		if strings.Contains(b.log.String()+got.body, token) || len(token) > 40 && strings.Contains(b.log.String(), token[:40]) {
			t.Errorf("%s: the token is told", name)
		}
	}
	if got := b.audit(t); len(got) != 0 {
		t.Errorf("audit has %v", got)
	}
}

// Whom a token was issued to grants nothing: neither a role nor a name nor an audience.
func TestPartyOfATokenGrantsNothing(t *testing.T) {
	t.Parallel()
	b, i := setupJWT(t)
	for name, change := range map[string]func(map[string]any){
		"name":    func(c map[string]any) { c["sub"], c["azp"] = "nobody", "checkout" },
		"no role": func(c map[string]any) { c["roles"], c["azp"] = nil, "service" },
		"roles":   func(c map[string]any) { c["roles"], c["azp"] = map[string]any{"service": true}, "checkout" },
	} {
		got := b.post(t, i.token(t, "rsa-1", i.keys["rsa-1"], i.claims(change)), b.hold, wire.Register)
		wantProblem(t, got, http.StatusForbidden, wire.CallerNotAllowed)
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

func TestRotatedKeysAreFound(t *testing.T) {
	t.Parallel()
	b, i := setupJWT(t)
	old := i.token(t, "rsa-1", i.keys["rsa-1"], i.claims())
	if got := b.post(t, old, b.hold, wire.Register); got.status != http.StatusOK {
		t.Fatalf("with the first key: %+v", got)
	}
	i.remove("rsa-1")
	key := ecKey(t)
	i.add(t, "ec-2", key)
	if got := b.post(t, i.token(t, "ec-2", key, i.claims()), b.hold, wire.Release); got.status != http.StatusOK {
		t.Fatalf("with the next key: %+v", got)
	}
	wantProblem(t, b.get(t, old), http.StatusUnauthorized, wire.Unauthenticated) // the key that was taken back
}

// Invented keys make nobody ask the provider without end, and known ones stay good meanwhile.
func TestInventedKeysDoNotBurdenTheProvider(t *testing.T) {
	t.Parallel()
	b, i := setupJWT(t)
	good := i.token(t, "rsa-1", i.keys["rsa-1"], i.claims())
	b.post(t, good, b.hold, wire.Register)
	key := ecKey(t)
	var refused, later int
	for range 50 {
		switch got := b.get(t, i.token(t, "invented", key, i.claims())); got.status {
		case http.StatusUnauthorized:
			refused++
		case http.StatusServiceUnavailable:
			later++
		default:
			t.Fatalf("answer is %+v", got)
		}
	}
	if n := i.fetches.Load(); n > 10 || refused == 0 || later == 0 {
		t.Errorf("the keys were fetched %d times, %d tokens refused, %d put off", n, refused, later)
	}
	if got := b.get(t, good); got.status != http.StatusOK {
		t.Errorf("the good token gets %+v", got)
	}
}

// A provider that is away makes nobody welcome, and what it said before stays.
func TestProviderThatIsAway(t *testing.T) {
	t.Parallel()
	b, i := setupJWT(t)
	good := i.token(t, "rsa-1", i.keys["rsa-1"], i.claims())
	i.away.Store(true)
	got := b.post(t, good, b.hold, wire.Register)
	wantProblem(t, got, http.StatusServiceUnavailable, wire.Unavailable)
	if got.header.Get("Retry-After") == "" {
		t.Error("no time to come again")
	}
	if got := b.post(t, checkout, b.hold, wire.Register); got.status != http.StatusOK {
		t.Errorf("a static token meanwhile: %+v", got)
	}
	i.away.Store(false)
	if got := b.get(t, good); got.status != http.StatusOK {
		t.Fatalf("the provider is back: %+v", got)
	}
	i.away.Store(true)
	if got := b.get(t, good); got.status != http.StatusOK {
		t.Errorf("with keys that are known: %+v", got)
	}
	key := ecKey(t)
	i.add(t, "ec-2", key)
	wantProblem(t, b.get(t, i.token(t, "ec-2", key, i.claims())), http.StatusServiceUnavailable, wire.Unavailable)
}

func TestCallerAndRolesFromOtherClaims(t *testing.T) {
	t.Parallel()
	b, i := setupJWT(t, func(c *holdhttp.JWTConfig) {
		c.CallerClaim, c.Prefix, c.RolesClaim = "client_id", "", []string{"realm_access", "roles"}
	})
	named := func(c map[string]any) {
		c["sub"], c["client_id"], c["roles"] = "5f1c", "billing", nil
		c["realm_access"] = map[string]any{"roles": []string{"service"}}
	}
	if got := b.post(t, i.token(t, "rsa-1", i.keys["rsa-1"], i.claims(named)), b.hold, wire.Register); got.status != http.StatusOK {
		t.Errorf("register: %+v", got)
	}
	if diff := cmp.Diff([]string{"1 register billing"}, b.audit(t)); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
	// A prefix makes other names of them.
	prefixed, j := setupJWT(t, func(c *holdhttp.JWTConfig) { c.Prefix = "idp:" })
	got := prefixed.post(t, j.token(t, "rsa-1", j.keys["rsa-1"], j.claims()), b.hold, wire.Register)
	wantProblem(t, got, http.StatusForbidden, wire.CallerNotAllowed)
}

func TestJWTSettingsThatWouldLetOthersInAreRefused(t *testing.T) {
	t.Parallel()
	good := holdhttp.JWTConfig{Issuer: "https://id.example.org", Audience: "participant", Algorithms: []string{"RS256"}}
	if _, err := holdhttp.NewJWT(good); err != nil {
		t.Errorf("good settings: %v", err)
	}
	for part, spoil := range map[string]func(*holdhttp.JWTConfig){
		"is not a URL":     func(c *holdhttp.JWTConfig) { c.Issuer = "" },
		"must be https":    func(c *holdhttp.JWTConfig) { c.Issuer = "http://id.example.org" },
		"no credentials":   func(c *holdhttp.JWTConfig) { c.Issuer = "https://u:p@id.example.org" },
		"no audience":      func(c *holdhttp.JWTConfig) { c.Audience = "" },
		"no algorithms":    func(c *holdhttp.JWTConfig) { c.Algorithms = nil },
		`"none": must`:     func(c *holdhttp.JWTConfig) { c.Algorithms = []string{"RS256", "none"} },
		`"HS256": must`:    func(c *holdhttp.JWTConfig) { c.Algorithms = []string{"HS256"} },
		"grants nothing":   func(c *holdhttp.JWTConfig) { c.CallerClaim = "azp" },
		"azp: is whom a t": func(c *holdhttp.JWTConfig) { c.RolesClaim = []string{"azp"} },
	} {
		cfg := good
		spoil(&cfg)
		var refused *holdhttp.ConfigError
		if _, err := holdhttp.NewJWT(cfg); !errors.As(err, &refused) || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: error is %v", part, err)
		}
	}
}
