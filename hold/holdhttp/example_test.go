package holdhttp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/hold/holdclient"
	"github.com/holdfast-dev/holdfast/hold/holdhttp"
	"github.com/holdfast-dev/holdfast/hold/wire"
	"github.com/holdfast-dev/holdfast/outbox"
)

// surface lets the service checkout decide about the holds in a database. The hash of its token
// is that of `printf %s TOKEN | sha256sum`.
func surface(pool *pgxpool.Pool, hash string) (http.Handler, error) {
	tokens, err := holdhttp.NewTokens(holdhttp.Token{
		SHA256: hash, Caller: holdhttp.Caller{Name: "checkout", Roles: []string{"service"}},
	})
	if err != nil {
		return nil, err
	}
	handler, err := holdhttp.New(pool, holdhttp.Config{
		Authenticators: []holdhttp.Authenticator{tokens},
		Callers:        []string{"checkout"},
	})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle(wire.Prefix+"/", handler)
	return mux, nil
}

// finish is the end of an operation at one participant.
func finish(ctx context.Context, participant *holdclient.Client, h outbox.Hold, ok bool) error {
	if ok {
		_, err := participant.Release(ctx, h, "committed")
		return err
	}
	answer, err := participant.Cancel(ctx, h, "aborted")
	for _, left := range answer.Quarantined {
		println("left to a person:", left.Kind, left.ID)
	}
	return err
}

func TestExampleOfTheGuideRuns(t *testing.T) {
	t.Parallel()
	b := setup(t)
	handler, err := surface(b.Pool, holdhttp.HashToken(checkout))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client, err := holdclient.New(holdclient.Config{URL: server.URL, Token: holdclient.StaticToken(checkout)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	for _, ok := range []bool{true, false} {
		a := b.another()
		if _, err := client.Register(t.Context(), a.hold, holdclient.Expiry{}); err != nil {
			t.Fatal(err)
		}
		a.stage(t, a.hold, 1)
		if err := finish(t.Context(), client, a.hold, ok); err != nil {
			t.Fatal(err)
		}
		if sent, held := a.events(t); held != 0 || (sent == 1) != ok {
			t.Errorf("finished with %v: %d sent, %d held", ok, sent, held)
		}
	}
}
