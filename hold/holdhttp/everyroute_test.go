package holdhttp_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/hold/holdhttp"
	"github.com/holdfast-dev/holdfast/hold/wire"
)

// TestEveryRouteRefusesTokensOfOthers: each control route, for each token that some service somewhere might take.
// The generation is one that its principal may still decide about, and stays so.
func TestEveryRouteRefusesTokensOfOthers(t *testing.T) {
	t.Parallel()
	b, i := setupJWT(t)
	key := i.keys["rsa-1"]
	signed := func(change func(map[string]any)) string { return i.token(t, "rsa-1", key, i.claims(change)) }
	b.post(t, signed(func(map[string]any) {}), b.hold, wire.Register)
	b.stage(t, b.hold, 1)
	for name, c := range map[string]struct {
		token  string
		status int
	}{
		"alg none":                     {unsigned(t, map[string]any{"alg": "none"}, i.claims()) + ".", 401},
		"alg none with a signature":    {unsigned(t, map[string]any{"alg": "none", "kid": "rsa-1"}, i.claims()) + "." + strings.Split(signed(func(map[string]any) {}), ".")[2], 401},
		"for another audience":         {signed(func(c map[string]any) { c["aud"] = "billing" }), 401},
		"issued to this audience only": {signed(func(c map[string]any) { c["aud"], c["azp"] = "billing", "participant" }), 401},
		"azp and no subject":           {signed(func(c map[string]any) { delete(c, "sub") }), 401},
		"expired":                      {signed(func(c map[string]any) { c["exp"] = time.Now().Add(-time.Second).Unix() }), 401},
		"of another issuer":            {signed(func(c map[string]any) { c["iss"] = "https://id.example.org" }), 401},
		"azp is on the list":           {signed(func(c map[string]any) { c["sub"], c["azp"] = "nobody", "checkout" }), 403},
		"azp has the role":             {signed(func(c map[string]any) { c["roles"], c["azp"] = nil, "service" }), 403},
		"another service":              {signed(func(c map[string]any) { c["sub"] = "warehouse" }), 403},
		"on the list without the role": {signed(func(c map[string]any) { c["roles"] = []string{"reader"} }), 403},
	} {
		for _, route := range holdhttp.Routes() {
			method, path, _ := strings.Cut(route, " ")
			path = strings.NewReplacer("{operation}", b.hold.Operation.String(), "{generation}", "1").Replace(path)
			kind := wire.Unauthenticated
			if c.status == http.StatusForbidden {
				kind = wire.CallerNotAllowed
			}
			wantProblem(t, b.call(t, c.token, method, path, ""), c.status, kind)
			if t.Failed() {
				t.Fatalf("%s: %s", name, route)
			}
		}
	}
	if diff := cmp.Diff([]string{"1 register checkout"}, b.audit(t)); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
	if sent, held := b.events(t); sent != 0 || held != 1 {
		t.Errorf("%d sent, %d held", sent, held)
	}
}

// TestEveryChangeIsAuditedWithItsCaller: the name is that of the credentials, whatever a request says of itself; what
// changes nothing adds nothing.
func TestEveryChangeIsAuditedWithItsCaller(t *testing.T) {
	t.Parallel()
	b, i := setupJWT(t)
	token := i.token(t, "rsa-1", i.keys["rsa-1"], i.claims(func(c map[string]any) { c["sub"], c["name"], c["azp"] = "billing", "checkout", "checkout" }))
	disguised := func(r *http.Request) {
		r.Header.Set("X-Forwarded-User", "root")
		r.Header.Set("From", "root")
	}
	for _, last := range []string{wire.Release, wire.Cancel} {
		a := b.another()
		a.call(t, token, http.MethodPost, wire.VerbPath(a.hold, wire.Register), "", disguised)
		for range 2 {
			a.call(t, token, http.MethodPost, wire.VerbPath(a.hold, last), `{"reason":"it is so"}`, disguised)
		}
		a.call(t, token, http.MethodGet, wire.OperationPath(a.hold.Operation), "", disguised)
		want := []string{"1 register billing", "1 " + last + " billing it is so"}
		if diff := cmp.Diff(want, a.audit(t)); diff != "" {
			t.Errorf("audit (-want +got):\n%s", diff)
		}
	}
	b.hold.Operation = uuid.New()
	b.get(t, token)
	if got := b.audit(t); len(got) != 0 {
		t.Errorf("a look is audited: %v", got)
	}
}
