package probe_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/cmd/relay/internal/probe"
)

func get(t *testing.T, h http.Handler, path, accept string) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequest("GET", path, nil)
	request.Header.Set("Accept", accept)
	recorded := httptest.NewRecorder()
	h.ServeHTTP(recorded, request)
	return recorded
}

func TestReadinessSaysWhy(t *testing.T) {
	t.Parallel()
	var reason atomic.Pointer[probe.Reason]
	h := probe.Handler(reason.Load, http.NotFoundHandler())
	if got := get(t, h, "/readyz", ""); got.Code != 200 || got.Body.String() != "ready\n" {
		t.Errorf("ready: %d %q", got.Code, got.Body)
	}
	if got := get(t, h, "/readyz", "application/json"); got.Code != 200 || got.Body.String() != `{"status":"ready"}`+"\n" {
		t.Errorf("ready: %d %q", got.Code, got.Body)
	}
	reason.Store(&probe.Reason{Code: "broker", Message: "broker unavailable for 20s: <no responders>", Hint: "start it",
		Since: time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)})
	if got := get(t, h, "/readyz", "text/html"); got.Code != 503 ||
		got.Body.String() != "not ready: broker unavailable for 20s: <no responders>\nhint: start it\n" {
		t.Errorf("not ready: %d %q", got.Code, got.Body)
	}
	want := `{"error":{"code":"broker","message":"broker unavailable for 20s: <no responders>","hint":"start it","since":"2026-11-29T10:00:00Z"},"status":"not ready"}` + "\n"
	if got := get(t, h, "/readyz", "application/json"); got.Code != 503 || got.Body.String() != want {
		t.Errorf("not ready: %d %q", got.Code, got.Body)
	}
}

// A probe that asked the dependencies would have healthy pods restarted during an outage.
func TestLivenessLooksAtNothing(t *testing.T) {
	t.Parallel()
	h := probe.Handler(func() *probe.Reason {
		t.Error("liveness asked for readiness")
		return nil
	}, http.NotFoundHandler())
	if got := get(t, h, "/livez", ""); got.Code != 200 || got.Body.String() != "alive\n" {
		t.Errorf("%d %q", got.Code, got.Body)
	}
}

func TestOtherPathsAndMethods(t *testing.T) {
	t.Parallel()
	h := probe.Handler(func() *probe.Reason { return nil }, http.NotFoundHandler())
	if got := get(t, h, "/", ""); got.Code != 200 || !strings.Contains(got.Body.String(), "/readyz") {
		t.Errorf("/: %d %q", got.Code, got.Body)
	}
	if got := get(t, h, "/debug/pprof/", ""); got.Code != 404 {
		t.Errorf("an unknown path: %d", got.Code)
	}
	recorded := httptest.NewRecorder()
	h.ServeHTTP(recorded, httptest.NewRequest("POST", "/livez", nil))
	if recorded.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", recorded.Code)
	}
}

func TestServerListensServesAndStops(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	server, err := probe.Listen(t.Context(), "127.0.0.1:0", probe.Handler(func() *probe.Reason { return nil }, http.NotFoundHandler()), log)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := probe.Listen(t.Context(), server.Addr().String(), http.NotFoundHandler(), log); err == nil {
		t.Error("a port was taken twice")
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve() }()
	response, err := http.Get("http://" + server.Addr().String() + "/livez")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if closeErr := response.Body.Close(); err != nil || closeErr != nil || string(body) != "alive\n" {
		t.Errorf("%q, %v, %v", body, err, closeErr)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
