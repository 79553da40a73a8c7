package holdhttp_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/hold/holdhttp"
	"github.com/holdfast-dev/holdfast/hold/wire"
	"github.com/holdfast-dev/holdfast/outbox"
)

// Also those that do not exist: who is not known is not told which there are.
func TestEveryRouteWantsCredentials(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, path := range []string{
		wire.VerbPath(b.hold, wire.Register), wire.VerbPath(b.hold, wire.Release), wire.VerbPath(b.hold, wire.Cancel),
		wire.OperationPath(b.hold.Operation), wire.DocumentPath, wire.Prefix, "/", "/metrics", "//" + wire.DocumentPath,
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
			for name, edit := range map[string]func(*http.Request){
				"none":         func(*http.Request) {},
				"unknown":      func(r *http.Request) { r.Header.Set("Authorization", "Bearer guess") },
				"basic":        func(r *http.Request) { r.SetBasicAuth("checkout", checkout) },
				"other scheme": func(r *http.Request) { r.Header.Set("Authorization", "Basic "+checkout) },
				"two spaces":   func(r *http.Request) { r.Header.Set("Authorization", "Bearer  "+checkout) },
				"no scheme":    func(r *http.Request) { r.Header.Set("Authorization", checkout) },
				"empty":        func(r *http.Request) { r.Header.Set("Authorization", "Bearer ") },
				"a part":       func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+checkout[1:]) },
				"hash":         func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+holdhttp.HashToken(checkout)) },
				"twice": func(r *http.Request) {
					r.Header["Authorization"] = []string{"Bearer " + checkout, "Bearer " + checkout}
				},
				"in a query": func(r *http.Request) { r.URL.RawQuery = "access_token=" + checkout },
				"in a name":  func(r *http.Request) { r.Header.Set("X-Forwarded-User", "checkout") },
			} {
				got := b.call(t, "", method, path, "", edit)
				wantProblem(t, got, http.StatusUnauthorized, wire.Unauthenticated)
				if got.header.Get("WWW-Authenticate") == "" || got.header.Get("X-Content-Type-Options") != "nosniff" {
					t.Errorf("%s %s with %s: no challenge, or no type to hold to", method, path, name)
				}
			}
		}
	}
	if got := b.audit(t); len(got) != 0 {
		t.Errorf("audit has %v", got)
	}
}

func TestCallerNeedsRoleAndPlace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, token := range []string{stranger, visitor} {
		for _, verb := range []string{wire.Register, wire.Release, wire.Cancel} {
			wantProblem(t, b.post(t, token, b.hold, verb), http.StatusForbidden, wire.CallerNotAllowed)
		}
		wantProblem(t, b.get(t, token), http.StatusForbidden, wire.CallerNotAllowed)
		wantProblem(t, b.call(t, token, http.MethodGet, wire.DocumentPath, ""), http.StatusForbidden, wire.CallerNotAllowed)
		wantProblem(t, b.call(t, token, http.MethodGet, "/nothing", ""), http.StatusForbidden, wire.CallerNotAllowed)
	}
	if got := b.audit(t); len(got) != 0 {
		t.Errorf("audit has %v", got)
	}
}

// Without its name in the settings the role of an operator is like any other.
func TestOperatorsExistOnlyByName(t *testing.T) {
	t.Parallel()
	unnamed := holdhttp.Token{SHA256: holdhttp.HashToken("unnamed-secret-0123456"), Caller: holdhttp.Caller{Name: "unnamed", Roles: []string{""}}}
	others, err := holdhttp.NewTokens(unnamed)
	if err != nil {
		t.Fatal(err)
	}
	b := setup(t, func(c *holdhttp.Config) { c.OperatorRole, c.Authenticators = "", append(c.Authenticators, others) })
	for _, token := range []string{alice, "unnamed-secret-0123456"} {
		wantProblem(t, b.get(t, token), http.StatusForbidden, wire.CallerNotAllowed)
	}
}

func TestStatesThatForbid(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.post(t, checkout, b.hold, wire.Register)
	b.post(t, checkout, b.hold, wire.Release)
	p := wantProblem(t, b.post(t, checkout, b.hold, wire.Cancel), http.StatusConflict, wire.GenerationReleased)
	if p.State != "released" || *p.Operation != b.hold.Operation || p.Generation != 1 || p.MaxGeneration != 1 {
		t.Errorf("problem is %+v", p)
	}
	b.post(t, checkout, b.generation(3), wire.Cancel)
	wantProblem(t, b.post(t, checkout, b.generation(3), wire.Release), http.StatusConflict, wire.GenerationCancelled)
	for _, verb := range []string{wire.Release, wire.Cancel} {
		wantProblem(t, b.post(t, checkout, b.generation(2), verb), http.StatusConflict, wire.GenerationUnknown)
	}
	wantProblem(t, b.post(t, checkout, b.generation(2), wire.Register), http.StatusConflict, wire.GenerationSuperseded)
	wantProblem(t, b.post(t, checkout, b.another().hold, wire.Release), http.StatusConflict, wire.GenerationUnknown)
	late := b.another()
	b.post(t, checkout, late.hold, wire.Register)
	b.post(t, checkout, late.generation(2), wire.Register)
	wantProblem(t, b.post(t, checkout, late.hold, wire.Release), http.StatusConflict, wire.GenerationSuperseded)
	p = wantProblem(t, b.another().get(t, checkout), http.StatusNotFound, wire.OperationUnknown)
	if p.Operation == nil {
		t.Error("the problem names no operation")
	}
}

func TestRequestsThatCannotBeMeant(t *testing.T) {
	t.Parallel()
	b := setup(t)
	operation := b.hold.Operation.String()
	at := func(operation, generation string) string {
		return wire.Prefix + "/operations/" + operation + "/" + generation + "/register"
	}
	for _, c := range []struct{ method, path, body, argument string }{
		{"POST", at("x", "1"), "", "operation"},
		{"POST", at("00000000-0000-0000-0000-000000000000", "1"), "", "operation"},
		{"POST", at("urn:uuid:"+operation, "1"), "", "operation"},
		{"POST", at(strings.ReplaceAll(operation, "-", ""), "1"), "", "operation"},
		{"POST", at(operation, "0"), "", "generation"},
		{"POST", at(operation, "-1"), "", "generation"},
		{"POST", at(operation, "01"), "", "generation"},
		{"POST", at(operation, "+1"), "", "generation"},
		{"POST", at(operation, "2147483648"), "", "generation"},
		{"POST", at(operation, "1"), `{`, "body"},
		{"POST", at(operation, "1"), `null 1`, "body"},
		{"POST", at(operation, "1"), `{"expires":"2030-01-02T03:04:05Z"}`, "body"},
		{"POST", at(operation, "1"), `{"expires_at":"tomorrow"}`, "body"},
		{"POST", at(operation, "1"), `{"on_expiry":"cancel"}`, "on_expiry"},
		{"POST", at(operation, "1"), `{"expires_at":"2030-01-02T03:04:05Z","on_expiry":"release"}`, "on_expiry"},
		{"POST", at(operation, "1") + "?after=1", "", "query"},
		{"POST", wire.VerbPath(b.hold, wire.Cancel), `{"reason":"` + strings.Repeat("x", 1025) + `"}`, "reason"},
		{"POST", wire.VerbPath(b.hold, wire.Release), `{"reason":"\u0000"}`, "reason"},
		{"GET", wire.OperationPath(b.hold.Operation) + "?after=0", "", "after"},
		{"GET", wire.OperationPath(b.hold.Operation) + "?limit=5", "", "query"},
		{"GET", wire.OperationPath(b.hold.Operation) + "?after=1&after=2", "", "query"},
		{"GET", wire.Prefix + "/operations/x", "", "operation"},
	} {
		p := wantProblem(t, b.call(t, checkout, c.method, c.path, c.body), http.StatusBadRequest, wire.RequestInvalid)
		if p.Argument != c.argument {
			t.Errorf("%s %s %s: problem with %q, want %q", c.method, c.path, c.body, p.Argument, c.argument)
		}
	}
	got := b.call(t, checkout, "POST", wire.VerbPath(b.hold, wire.Cancel), "reason=x", func(r *http.Request) {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	})
	wantProblem(t, got, http.StatusUnsupportedMediaType, wire.MediaType)
	if got := b.audit(t); len(got) != 0 {
		t.Errorf("audit has %v", got)
	}
}

func TestRoutesAndMethodsThatAreNotThere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, path := range []string{
		"/", wire.Prefix, wire.Prefix + "/operations", wire.Prefix + "/operations/", wire.OperationPath(b.hold.Operation) + "/",
		wire.OperationPath(b.hold.Operation) + "/1", wire.VerbPath(b.hold, "drop"), wire.VerbPath(b.hold, wire.Release) + "/",
		"/" + wire.VerbPath(b.hold, wire.Release), strings.ToUpper(wire.DocumentPath), wire.Prefix + "/x/../openapi.json",
		strings.Replace(wire.VerbPath(b.hold, wire.Release), "/release", "%2Frelease", 1),
	} {
		wantProblem(t, b.call(t, checkout, http.MethodPost, path, ""), http.StatusNotFound, wire.RouteUnknown)
	}
	for path, allowed := range map[string]string{
		wire.VerbPath(b.hold, wire.Release): "POST", wire.OperationPath(b.hold.Operation): "GET", wire.DocumentPath: "GET",
	} {
		for _, method := range []string{"GET", "POST", "PUT", "DELETE", "OPTIONS"} {
			if method == allowed {
				continue
			}
			got := b.call(t, checkout, method, path, "")
			wantProblem(t, got, http.StatusMethodNotAllowed, wire.MethodNotAllowed)
			if got.header.Get("Allow") != allowed {
				t.Errorf("%s %s allows %q", method, path, got.header.Get("Allow"))
			}
		}
	}
}

// What the database says is for the log.
func TestFaultsOfTheDatabaseAreNotTold(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, c := range map[string]struct {
		state  string
		status int
		kind   wire.ProblemType
	}{
		"a bug":        {"22012", http.StatusInternalServerError, wire.Internal},
		"a deadlock":   {"40P01", http.StatusServiceUnavailable, wire.Unavailable},
		"a full disk":  {"53100", http.StatusServiceUnavailable, wire.Unavailable},
		"no server":    {"08006", http.StatusServiceUnavailable, wire.Unavailable},
		"a lock":       {"55P03", http.StatusServiceUnavailable, wire.Unavailable},
		"a stop":       {"57P01", http.StatusServiceUnavailable, wire.Unavailable},
		"a standby":    {"25006", http.StatusServiceUnavailable, wire.Unavailable},
		"no right":     {"42501", http.StatusInternalServerError, wire.Internal},
		"a lost table": {"42P01", http.StatusInternalServerError, wire.Internal},
	} {
		if _, err := b.Pool.Exec(t.Context(), `CREATE OR REPLACE FUNCTION outbox.hold_release(operation text, generation integer, actor text, reason text DEFAULT NULL)
			RETURNS TABLE (state text, max_generation integer, held bigint, released bigint, dropped bigint, changed boolean)
			LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'HIDDEN words' USING ERRCODE = '`+c.state+`', DETAIL = 'HIDDEN'; END $$`); err != nil {
			t.Fatal(err)
		}
		got := b.post(t, checkout, b.hold, wire.Release)
		wantProblem(t, got, c.status, c.kind)
		if strings.Contains(got.body, "HIDDEN") || !strings.Contains(b.log.String(), "HIDDEN") {
			t.Errorf("%s: answer %s, log %s", name, got.body, b.log)
		}
		if (got.header.Get("Retry-After") != "") != (c.status == http.StatusServiceUnavailable) {
			t.Errorf("%s: retry after %q", name, got.header.Get("Retry-After"))
		}
	}
}

type failing struct{ err error }

func (f failing) Authenticate(*http.Request) (holdhttp.Caller, error) {
	if f.err == nil {
		panic("SECRET of the panic")
	}
	return holdhttp.Caller{Name: "checkout", Roles: []string{"service"}}, f.err
}

// An authenticator that cannot say, or panics, lets nobody in, and the server goes on.
func TestFailingAuthenticatorLetsNobodyIn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, c := range []struct {
		err    error
		status int
		kind   wire.ProblemType
	}{
		{errors.New("away"), http.StatusServiceUnavailable, wire.Unavailable},
		{holdhttp.ErrBadCredentials, http.StatusUnauthorized, wire.Unauthenticated},
		{nil, http.StatusInternalServerError, wire.Internal},
	} {
		a := *b
		a.serve(t, nil, func(cfg *holdhttp.Config) { cfg.Authenticators = []holdhttp.Authenticator{failing{c.err}, tokens(t)} })
		got := a.post(t, checkout, b.hold, wire.Register)
		wantProblem(t, got, c.status, c.kind)
		if strings.Contains(got.body+b.log.String(), "SECRET") {
			t.Errorf("the panic is told: %s, %s", got.body, b.log)
		}
	}
	if got := b.audit(t); len(got) != 0 {
		t.Errorf("audit has %v", got)
	}
}

func TestSettingsThatWouldLetAnybodyInAreRefused(t *testing.T) {
	t.Parallel()
	good := holdhttp.Config{Authenticators: []holdhttp.Authenticator{tokens(t)}, Callers: []string{"checkout"}}
	if err := good.Validate(); err != nil {
		t.Errorf("good settings: %v", err)
	}
	for part, spoil := range map[string]func(*holdhttp.Config){
		"no authenticator":   func(c *holdhttp.Config) { c.Authenticators = nil },
		"is nil":             func(c *holdhttp.Config) { c.Authenticators = []holdhttp.Authenticator{nil} },
		"nobody may call":    func(c *holdhttp.Config) { c.Callers = nil },
		"control characters": func(c *holdhttp.Config) { c.Callers = []string{"a\nb"} },
		`caller "a\xff"`:     func(c *holdhttp.Config) { c.Callers = []string{"a\xff"} },
		`caller ""`:          func(c *holdhttp.Config) { c.Callers = []string{""} },
		"that of services":   func(c *holdhttp.Config) { c.OperatorRole = "service" },
		"timeout":            func(c *holdhttp.Config) { c.Timeout = -1 },
		"largest body":       func(c *holdhttp.Config) { c.MaxBody = -1 },
		"rate":               func(c *holdhttp.Config) { c.Rate = -1 },
		"burst":              func(c *holdhttp.Config) { c.Burst = -1 },
		"concurrent":         func(c *holdhttp.Config) { c.Concurrent = -1 },
		"schema":             func(c *holdhttp.Config) { c.Schema = "Not A Name" },
	} {
		cfg := good
		spoil(&cfg)
		_, err := holdhttp.New(nil, cfg)
		var refused *holdhttp.ConfigError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: error is %v", part, err)
		}
	}
	if _, err := holdhttp.New(nil, good); err == nil {
		t.Error("no database: no error")
	}
	sum := holdhttp.HashToken("x")
	caller := holdhttp.Caller{Name: "a"}
	for part, list := range map[string][]holdhttp.Token{
		"no token":      {},
		"64 hex":        {{SHA256: "abc", Caller: caller}},
		"64 hexa":       {{SHA256: sum + "00", Caller: caller}},
		"empty":         {{SHA256: holdhttp.HashToken(""), Caller: caller}},
		"twice":         {{SHA256: sum, Caller: caller}, {SHA256: strings.ToUpper(sum), Caller: caller}},
		"no valid name": {{SHA256: sum}},
	} {
		if _, err := holdhttp.NewTokens(list...); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("tokens, %s: error is %v", part, err)
		}
	}
}

// A hash counts to its last digit.
func TestTokenIsItsWholeHash(t *testing.T) {
	t.Parallel()
	sum := holdhttp.HashToken(checkout)
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Authorization", "bearer "+checkout) // the scheme in any case
	for i := range len(sum) + 1 {
		other := []byte(sum)
		if i < len(sum) {
			other[i] = "10"[min(1, sum[i]-'0')] // another digit
		}
		list, err := holdhttp.NewTokens(holdhttp.Token{SHA256: string(other), Caller: holdhttp.Caller{Name: "checkout"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := list.Authenticate(r); errors.Is(err, holdhttp.ErrNoCredentials) != (i < len(sum)) {
			t.Errorf("a hash that differs at %d of %d: %v", i, len(sum), err)
		}
	}
}

// What cannot travel in a header as one token is none, whoever wrote its hash into the settings.
func TestTokenThatCannotBeOneIsBad(t *testing.T) {
	t.Parallel()
	for name, token := range map[string]string{"a space": "a b", "a tab": "a\tb", "no ASCII": "schlüssel", "too long": strings.Repeat("x", 16<<10+1)} {
		list, err := holdhttp.NewTokens(holdhttp.Token{SHA256: holdhttp.HashToken(token), Caller: holdhttp.Caller{Name: "checkout"}})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		if caller, err := list.Authenticate(r); !errors.Is(err, holdhttp.ErrBadCredentials) {
			t.Errorf("%s: caller is %+v, %v", name, caller, err)
		}
	}
}

func TestRefusalsOfHeldWrites(t *testing.T) {
	t.Parallel()
	if _, is := wire.WriteRefusalOf(errors.New("other")); is {
		t.Error("any error is a refusal")
	}
	if _, is := wire.WriteRefusalOf(&outbox.InvalidArgumentError{Argument: "entity_kind"}); is {
		t.Error("a fault of the service is one of its caller")
	}
}
