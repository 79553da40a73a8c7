package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/hold/holdclient"
	"github.com/holdfast-dev/holdfast/hold/holdhttp"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

const (
	checkoutToken = "checkout-secret-0123456789"
	strangerToken = "stranger-secret-0123456789"
	checkoutURI   = "spiffe://example.org/checkout"
)

// writeFile makes a file in a folder of the test.
func writeFile(t *testing.T, name string, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// tokensFile names checkout, and a stranger who is on no list.
func tokensFile(t *testing.T) string {
	t.Helper()
	return writeFile(t, "credentials", []byte("# caller roles credential\n\ncheckout service sha256:"+holdhttp.HashToken(checkoutToken)+
		"\nstranger service,reader sha256:"+holdhttp.HashToken(strangerToken)+"\n"))
}

// surfaceOf returns where the control surface of a relay is.
func (p *process) surfaceOf() (addr string) {
	p.t.Helper()
	eventually(p.t, "the control surface listens", func() bool {
		line, found := p.logged("control surface listens")
		addr, _ = line["addr"].(string)
		return found
	})
	return addr
}

func surfaceClient(t *testing.T, cfg holdclient.Config) *holdclient.Client {
	t.Helper()
	client, err := holdclient.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func newHold() outbox.Hold { return outbox.Hold{Operation: uuid.New(), Generation: 1} }

func stageHeld(t *testing.T, db *outboxtest.Database, h outbox.Hold) {
	t.Helper()
	if _, err := db.Pool.Exec(t.Context(), `select outbox.publish_held($1, $2, '/orders', 'order.placed')`, h.Operation.String(), h.Generation); err != nil {
		t.Fatal(err)
	}
}

func TestRunServesTheControlSurface(t *testing.T) {
	t.Parallel()
	db, broker := outboxtest.NewDatabase(t), outboxtest.NewNATS(t)
	js := outboxtest.NewStream(t, broker.URL(), "ORDERS", "events.>")
	operator, err := loginAs(t.Context(), db, canonical.Operator)
	if err != nil {
		t.Fatal(err)
	}
	p := startRelay(t, os.Args[0], "RELAY_DATABASE_URL="+db.URL, "RELAY_NATS_URL="+broker.URL(), "RELAY_HOLD_ADDR=127.0.0.1:0", "RELAY_HOLD_CALLERS=checkout",
		"RELAY_HOLD_CREDENTIALS_FILE="+tokensFile(t), "RELAY_HOLD_DATABASE_URL_FILE="+writeFile(t, "url", []byte(operator+"\n")))
	base := "http://" + p.surfaceOf()
	client := surfaceClient(t, holdclient.Config{URL: base, Token: holdclient.StaticToken(checkoutToken)})
	released, cancelled := newHold(), newHold()
	for _, h := range []outbox.Hold{released, cancelled} {
		if _, err := client.Register(t.Context(), h, holdclient.Expiry{}); err != nil {
			t.Fatal(err)
		}
		stageHeld(t, db, h)
	}
	if answer, err := client.Release(t.Context(), released, "committed"); err != nil || answer.Released != 1 {
		t.Errorf("release: %+v, %v", answer, err)
	}
	if answer, err := client.Cancel(t.Context(), cancelled, "aborted"); err != nil || answer.Dropped != 1 {
		t.Errorf("cancel: %+v, %v", answer, err)
	}
	stored(t, js, 1)

	response, err := http.Get(base + "/v1/internal/operations/" + released.Operation.String())
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusUnauthorized {
		t.Errorf("without credentials: status %d, want 401", response.StatusCode)
	}
	stranger := surfaceClient(t, holdclient.Config{URL: base, Token: holdclient.StaticToken(strangerToken)})
	if _, err := stranger.Register(t.Context(), newHold(), holdclient.Expiry{}); !errors.Is(err, holdclient.ErrForbidden) {
		t.Errorf("a stranger: error is %v, want ErrForbidden", err)
	}
	if code, _ := p.get("/v1/internal/openapi.json", ""); code != http.StatusNotFound {
		t.Errorf("the probes' address answers for the surface with %d", code)
	}
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != 0 {
		t.Errorf("exited with %d", code)
	}
}

// Calls come without a pause, and one hangs behind an open writer. The relay stops all the same, in its time, with its
// lanes handed back; what was answered is done.
func TestSurfaceStopsUnderLoad(t *testing.T) {
	t.Parallel()
	db, broker := outboxtest.NewDatabase(t), outboxtest.NewNATS(t)
	js := outboxtest.NewStream(t, broker.URL(), "ORDERS", "events.>")
	p := startRelay(t, os.Args[0], "RELAY_DATABASE_URL="+db.URL, "RELAY_NATS_URL="+broker.URL(), "RELAY_HOLD_ADDR=127.0.0.1:0", "RELAY_HOLD_CALLERS=checkout",
		"RELAY_HOLD_CREDENTIALS_FILE="+tokensFile(t), "RELAY_HOLD_STOP_TIMEOUT=300ms", "RELAY_HOLD_TIMEOUT=2s")
	client := surfaceClient(t, holdclient.Config{URL: "http://" + p.surfaceOf(), Token: holdclient.StaticToken(checkoutToken), Attempts: 1})
	stage(t, db, 50)
	stored(t, js, 50)

	stuck := newHold()
	if _, err := client.Register(t.Context(), stuck, holdclient.Expiry{}); err != nil {
		t.Fatal(err)
	}
	writer, err := db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Rollback(t.Context())
	if _, err := writer.Exec(t.Context(), `select outbox.publish_held($1, 1, '/orders', 'order.placed')`, stuck.Operation.String()); err != nil {
		t.Fatal(err)
	}
	var calls sync.WaitGroup
	calls.Go(func() {
		if _, err := client.Cancel(t.Context(), stuck, "aborted"); err == nil {
			t.Error("the cancel did not wait for the writer")
		}
	})
	eventually(t, "the cancel waits for the writer", func() bool {
		return query(t, db, "select count(*) from pg_stat_activity where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0") == 1
	})
	var answered atomic.Int64
	for range 4 {
		calls.Go(func() {
			for {
				_, err := client.Register(t.Context(), newHold(), holdclient.Expiry{})
				if errors.Is(err, holdclient.ErrRateLimited) {
					continue
				}
				if err != nil {
					return
				}
				answered.Add(1)
			}
		})
	}
	eventually(t, "calls are answered", func() bool { return answered.Load() > 20 })
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != 0 {
		t.Errorf("exited with %d", code)
	}
	calls.Wait()
	if n := p.count("calls of the control surface are cut"); n != 1 {
		t.Errorf("%d lines say that a call was cut, want 1", n)
	}
	if lanes, relays := query(t, db, ownedLanes), query(t, db, liveRelays); lanes != 0 || relays != 0 {
		t.Errorf("%d lanes and %d relays are left behind", lanes, relays)
	}
	if n := int64(query(t, db, "select count(*) from outbox.hold_generation where state = 'active'")); n < answered.Load() {
		t.Errorf("%d generations are active, and %d calls were answered", n, answered.Load())
	}
}

// pair is a certificate in two files.
type pair struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	tls.Certificate
	certFile, keyFile string
}

// issue makes a certificate, signed by another or by itself.
func issue(t *testing.T, by *pair, change func(*x509.Certificate)) *pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), BasicConstraintsValid: true}
	change(template)
	parent, signer := template, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return &pair{cert: cert, key: key, Certificate: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		certFile: writeFile(t, "cert.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		keyFile:  writeFile(t, "key.pem", pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}))}
}

func TestSurfaceKnowsClientCertificates(t *testing.T) {
	t.Parallel()
	authority := issue(t, nil, func(c *x509.Certificate) { c.IsCA, c.KeyUsage = true, x509.KeyUsageCertSign })
	server := issue(t, authority, func(c *x509.Certificate) {
		c.IPAddresses, c.ExtKeyUsage = []net.IP{net.IPv4(127, 0, 0, 1)}, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	})
	client := func(uri string) *tls.Config {
		u, err := url.Parse(uri)
		if err != nil {
			t.Fatal(err)
		}
		p := issue(t, authority, func(c *x509.Certificate) {
			c.URIs, c.ExtKeyUsage = []*url.URL{u}, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
		})
		cfg := &tls.Config{Certificates: []tls.Certificate{p.Certificate}, RootCAs: x509.NewCertPool()}
		cfg.RootCAs.AddCert(authority.cert)
		return cfg
	}
	db := outboxtest.NewDatabase(t)
	// The broker is away: the surface does without.
	p := startRelay(t, os.Args[0], "RELAY_DATABASE_URL="+db.URL, "RELAY_NATS_URL=nats://127.0.0.1:1", "RELAY_HOLD_ADDR=127.0.0.1:0", "RELAY_HOLD_CALLERS=checkout",
		"RELAY_HOLD_CREDENTIALS_FILE="+writeFile(t, "credentials", []byte("checkout service "+checkoutURI)),
		"RELAY_HOLD_TLS_CERT_FILE="+server.certFile, "RELAY_HOLD_TLS_KEY_FILE="+server.keyFile, "RELAY_HOLD_TLS_CLIENT_CA_FILE="+authority.certFile)
	base := "https://" + p.surfaceOf()
	h := newHold()
	good := surfaceClient(t, holdclient.Config{URL: base, TLS: client(checkoutURI), Attempts: 1})
	if _, err := good.Register(t.Context(), h, holdclient.Expiry{}); err != nil {
		t.Errorf("the right certificate: %v", err)
	}
	bad := surfaceClient(t, holdclient.Config{URL: base, TLS: client(checkoutURI + "-2"), Attempts: 1})
	if _, err := bad.Cancel(t.Context(), h, "no"); !errors.Is(err, holdclient.ErrUnauthenticated) {
		t.Errorf("another certificate: error is %v, want ErrUnauthenticated", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http"+base[len("https"):]+"/v1/internal/openapi.json", nil)
	if err != nil {
		t.Fatal(err)
	}
	if response, err := http.DefaultClient.Do(request); err == nil {
		_ = response.Body.Close()
		if response.StatusCode != http.StatusBadRequest {
			t.Errorf("plain text is answered with %d", response.StatusCode)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}
