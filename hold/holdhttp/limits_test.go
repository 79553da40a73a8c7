package holdhttp_test

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/hold/holdhttp"
	"github.com/holdfast-dev/holdfast/hold/wire"
)

func TestOversizedBodyIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *holdhttp.Config) { c.MaxBody = 100 })
	large := `{"reason":"` + strings.Repeat("x", 200) + `"}`
	path := wire.VerbPath(b.hold, wire.Cancel)
	wantProblem(t, b.call(t, checkout, http.MethodPost, path, large), http.StatusRequestEntityTooLarge, wire.RequestTooLarge)
	// Without a length, so that it has to be read.
	got := b.call(t, checkout, http.MethodPost, path, large, func(r *http.Request) { r.ContentLength, r.Body = -1, io.NopCloser(strings.NewReader(large)) })
	wantProblem(t, got, http.StatusRequestEntityTooLarge, wire.RequestTooLarge)
	if got := b.audit(t); len(got) != 0 {
		t.Errorf("audit has %v", got)
	}
}

func TestSlowBodyIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *holdhttp.Config) { c.Timeout = 2 * time.Second })
	reader, writer := io.Pipe()
	t.Cleanup(func() { _ = writer.Close() }) // the request ended long ago
	got := b.call(t, checkout, http.MethodPost, wire.VerbPath(b.hold, wire.Cancel), "", func(r *http.Request) {
		r.Body, r.ContentLength = reader, 50
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Expect", "100-continue")
	})
	wantProblem(t, got, http.StatusRequestTimeout, wire.RequestTooSlow)
	if got := b.audit(t); len(got) != 0 {
		t.Errorf("audit has %v", got)
	}
	if got := b.call(t, checkout, http.MethodGet, wire.DocumentPath, ""); got.status != http.StatusOK {
		t.Errorf("the next call gets %+v", got)
	}
}

// Each caller has a rate of its own, and what is refused costs nothing and does nothing.
func TestCallersAreLimitedOneByOne(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *holdhttp.Config) { c.Rate, c.Burst = 0.001, 3 })
	for range 3 {
		if got := b.post(t, checkout, b.hold, wire.Register); got.status != http.StatusOK {
			t.Fatalf("call within the limit: %+v", got)
		}
	}
	for range 2 {
		got := b.post(t, checkout, b.hold, wire.Cancel)
		wantProblem(t, got, http.StatusTooManyRequests, wire.RateLimited)
		if after, err := strconv.Atoi(got.header.Get("Retry-After")); err != nil || after > 1000 || after < 900 {
			t.Errorf("retry after %d, %v", after, err)
		}
	}
	if got := b.get(t, billing); got.status != http.StatusOK {
		t.Errorf("another caller gets %+v", got)
	}
	wantProblem(t, b.get(t, "guess"), http.StatusUnauthorized, wire.Unauthenticated)
	if got := b.audit(t); len(got) != 1 {
		t.Errorf("audit has %v", got)
	}
}
