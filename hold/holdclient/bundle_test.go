package holdclient_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/hold/holdclient"
	"github.com/holdfast-dev/holdfast/hold/holdhttp"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

const (
	token    = "checkout-secret-0123456789"
	intruder = "intruder-secret-0123456789"
)

// participant is a database, the surface over it, and an operation that nobody knows yet.
type participant struct {
	*outboxtest.Database
	handler http.Handler
	hold    outbox.Hold
}

func newParticipant(t testing.TB) *participant {
	t.Helper()
	p := &participant{Database: outboxtest.NewDatabase(t), hold: outbox.Hold{Operation: uuid.New(), Generation: 1}}
	var list []holdhttp.Token
	for name, text := range map[string]string{"checkout": token, "intruder": intruder} {
		list = append(list, holdhttp.Token{SHA256: holdhttp.HashToken(text), Caller: holdhttp.Caller{Name: name, Roles: []string{"service"}}})
	}
	tokens, err := holdhttp.NewTokens(list...)
	if err != nil {
		t.Fatal(err)
	}
	p.handler, err = holdhttp.New(p.Pool, holdhttp.Config{Authenticators: []holdhttp.Authenticator{tokens},
		Callers: []string{"checkout", "intruder"}, Rate: 1e6, Burst: 1e6, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// serve starts a server and returns its address.
func serve(t testing.TB, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	t.Cleanup(server.Close)
	return server.URL
}

// dial makes a client that is in a hurry.
func dial(t testing.TB, address string, change ...func(*holdclient.Config)) *holdclient.Client {
	t.Helper()
	cfg := holdclient.Config{URL: address, Token: holdclient.StaticToken(token), Backoff: time.Millisecond, MaxBackoff: 2 * time.Millisecond}
	for _, c := range change {
		c(&cfg)
	}
	client, err := holdclient.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// first gives the first n requests to one handler, and the others to the next one.
func first(n int64, one, next http.Handler) (handler http.Handler, requests *atomic.Int64) {
	requests = &atomic.Int64{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) <= n {
			one.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	}), requests
}

// answering is a handler that always gives the same answer.
func answering(status int, contentType, body string, headers ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body)) // to a client that may have had enough
	})
}
