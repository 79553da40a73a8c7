package holdhttp_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/hold/holdhttp"
	"github.com/holdfast-dev/holdfast/hold/wire"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// FuzzRequest sends what anybody might send: the service never fails, whoever has no credentials is told nothing
// else, and every answer is one that the surface describes.
func FuzzRequest(f *testing.F) {
	b := setupCounted(f)
	f.Fuzz(rapid.MakeFuzz(b.anyRequest))
}

// TestAnyRequest is FuzzRequest at random, in every run.
func TestAnyRequest(t *testing.T) {
	t.Parallel()
	b := setupCounted(t)
	rapid.Check(t, func(t *rapid.T) {
		for range 10 {
			b.anyRequest(t)
		}
	})
	if b.seen.Load() == 0 {
		t.Error("no request has reached the surface")
	}
	if log := b.log.String(); strings.Contains(log, "level=ERROR") {
		t.Errorf("the service failed:\n%s", log)
	}
}

// counted is a surface that counts the requests which reach it.
type counted struct {
	*testBundle
	host string
	seen atomic.Int64
}

func setupCounted(t testing.TB) *counted {
	t.Helper()
	c := &counted{testBundle: &testBundle{Database: outboxtest.NewDatabase(t), log: &outboxtest.Log{}}}
	c.serve(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c.seen.Add(1)
			next.ServeHTTP(w, r)
		})
	})
	server, err := url.Parse(c.url)
	if err != nil {
		t.Fatal(err)
	}
	c.host = server.Host
	return c
}

// request is one as it goes over the wire.
type request struct {
	method, target string
	headers        []string
	body           string
	known          bool // the caller
}

// anyRequest makes a request, byte by byte, and judges its answer.
func (b *counted) anyRequest(t *rapid.T) {
	r := drawRequest(t)
	text := r.method + " " + r.target + " HTTP/1.1\r\nHost: x\r\n" + strings.Join(r.headers, "")
	if r.body != "" {
		text += fmt.Sprintf("Content-Length: %d\r\n", len(r.body))
	}
	before := b.seen.Load()
	response, body, err := exchange(b.host, text+"\r\n"+r.body)
	if errors.Is(err, syscall.ECONNRESET) && b.seen.Load() == before {
		return // the server of the standard library refused it, and closed before it had read the body
	}
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	var problem wire.Problem
	switch {
	case response.Header.Get("X-Content-Type-Options") == "":
		// The server of the standard library answered before anybody saw it: it refused, or OPTIONS * has no body.
		if response.StatusCode >= 500 || response.StatusCode < 400 && (r.target != "*" || len(body) > 0) {
			t.Fatalf("%q: answer is %d %q", text, response.StatusCode, body)
		}
	case response.StatusCode == http.StatusOK:
		if !r.known || !json.Valid(body) && r.method != http.MethodHead {
			t.Fatalf("%q: answer is %q", text, body)
		}
	case r.method == http.MethodHead: // a problem without its body
		if response.StatusCode >= 500 {
			t.Fatalf("%q: answer is %d", text, response.StatusCode)
		}
	default:
		if err := json.Unmarshal(body, &problem); err != nil || problem.Status != response.StatusCode || problem.Status >= 500 {
			t.Fatalf("%q: answer is %d %q", text, response.StatusCode, body)
		}
		if _, is := problem.Type.Kind(); !is || !r.known && problem.Type != wire.Unauthenticated {
			t.Fatalf("%q: answer is %q", text, body)
		}
	}
}

// exchange sends bytes and reads one answer.
func exchange(host, text string) (*http.Response, []byte, error) {
	conn, err := net.DialTimeout("tcp", host, waitLimit)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = conn.Close() }() // the answer is read
	if err := conn.SetDeadline(time.Now().Add(waitLimit)); err != nil {
		return nil, nil, err
	}
	if _, err := io.WriteString(conn, text); err != nil {
		return nil, nil, err
	}
	method, _, _ := strings.Cut(text, " ")
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = response.Body.Close() }() // it is read to its end
	body, err := io.ReadAll(response.Body)
	return response, body, err
}

// odd are texts that somebody might believe to be something else.
var odd = []string{"", ".", "..", "%", "%00", "%2e%2e", "%2F", "%zz", "a%20b", "*", "ü", "\xff", "{operation}", "0", "-1", "1e9", "9223372036854775808",
	"00000000-0000-0000-0000-000000000000", "'; DROP TABLE outbox.event_outbox; --", strings.Repeat("a", 3000)}

func drawRequest(t *rapid.T) request {
	part := rapid.OneOf(rapid.SampledFrom(odd), rapid.StringMatching(`[!-~]{0,12}`))
	operation := rapid.OneOf(rapid.SampledFrom([]string{
		"11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222", "AAAAAAAA-1111-4111-8111-111111111111",
	}), part).Draw(t, "operation")
	generation := rapid.OneOf(rapid.SampledFrom([]string{"1", "2", "3", "2147483647", "2147483648"}), part).Draw(t, "generation")
	verb := rapid.OneOf(rapid.SampledFrom([]string{wire.Register, wire.Release, wire.Cancel}), part).Draw(t, "verb")
	r := request{
		method: rapid.OneOf(rapid.SampledFrom([]string{"POST", "POST", "GET", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH", "TRACE"}), rapid.StringMatching(`[A-Za-z]{1,8}`)).Draw(t, "method"),
		target: rapid.SampledFrom([]string{
			wire.Prefix + "/operations/" + operation + "/" + generation + "/" + verb, wire.Prefix + "/operations/" + operation,
			wire.DocumentPath, "/" + operation + "/" + verb, "//" + generation, "*", wire.Prefix + "/../" + verb,
		}).Draw(t, "target"),
	}
	if rapid.IntRange(0, 3).Draw(t, "query") == 0 {
		r.target += "?" + rapid.OneOf(rapid.SampledFrom([]string{"after=1", "after=0", "after=1&after=2", "a;b", "%zz", "after=" + generation, "access_token=" + checkout}), part).Draw(t, "text of the query")
	}
	r.known = rapid.IntRange(0, 3).Draw(t, "caller") > 0
	if r.known {
		r.headers = append(r.headers, "Authorization: Bearer "+rapid.SampledFrom([]string{checkout, billing, alice}).Draw(t, "token")+"\r\n")
	}
	value := rapid.OneOf(rapid.SampledFrom([]string{"", "1", "application/json", "application/json; charset=utf-8", "text/plain", "person:1", "checkout", "bytes=0-5", "DELETE", "\x01", "ä"}), rapid.StringMatching(`[ -~]{0,40}`))
	for range rapid.IntRange(0, 3).Draw(t, "headers") {
		name := rapid.SampledFrom([]string{"Content-Type", "Accept", "Accept-Encoding", "Range", "If-None-Match", "X-HTTP-Method-Override", "X-Original-URL", "X-Forwarded-For",
			"Forwarded", "Origin", "Cookie", "Upgrade", "Traceparent", "Content-Encoding", holdhttp.OperationHeader, holdhttp.GenerationHeader, holdhttp.StepHeader}).Draw(t, "header")
		r.headers = append(r.headers, name+": "+value.Draw(t, "value")+"\r\n")
	}
	if rapid.Bool().Draw(t, "has a body") {
		r.headers = append(r.headers, "Content-Type: application/json\r\n")
		r.body = rapid.OneOf(rapid.SampledFrom([]string{
			`{}`, `null`, `[]`, `""`, `{"reason":"x"}`, `{"reason":null}`, `{"reason":"\u0000"}`, `{"reason":"\ud800"}`, "{\"reason\":\"\xff\"}", `{"reason":1}`,
			`{"expires_at":"0000-01-01T00:00:00Z"}`, `{"expires_at":"9999-12-31T23:59:59.999999999Z","on_expiry":"cancel"}`, `{"expires_at":"2030-01-02T03:04:05-24:00"}`,
			`{"on_expiry":"release"}`, `{"a":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `}`, `{"reason":"` + strings.Repeat("x", 1025) + `"}`,
		}), rapid.StringN(1, 60, -1)).Draw(t, "body")
	}
	return r
}
