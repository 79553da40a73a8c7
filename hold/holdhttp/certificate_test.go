package holdhttp_test

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/hold/holdhttp"
	"github.com/holdfast-dev/holdfast/hold/wire"
)

// authority signs certificates.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	key := ecKey(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{key, cert}
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// issue makes a client certificate.
func (a *authority) issue(t testing.TB, change func(*x509.Certificate), uris ...string) tls.Certificate {
	t.Helper()
	key := ecKey(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "checkout"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	for _, text := range uris {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		template.URIs = append(template.URIs, u)
	}
	if change != nil {
		change(template)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

const identity = "spiffe://example.org/checkout"

func TestCertificatesByTheirExactName(t *testing.T) {
	t.Parallel()
	trusted, other := newAuthority(t), newAuthority(t)
	certificates, err := holdhttp.NewCertificates(map[string]holdhttp.Caller{identity: {Name: "checkout", Roles: []string{"service"}}})
	if err != nil {
		t.Fatal(err)
	}
	b := setup(t)
	server := httptest.NewUnstartedServer(b.handler(t, func(c *holdhttp.Config) {
		c.Authenticators = []holdhttp.Authenticator{certificates, tokens(t)}
	}))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.TLS = &tls.Config{ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: trusted.pool()}
	server.StartTLS()
	t.Cleanup(server.Close)
	as := func(certificate ...tls.Certificate) *testBundle {
		a := *b
		transport := &http.Transport{TLSClientConfig: &tls.Config{Certificates: certificate, RootCAs: x509.NewCertPool()}}
		transport.TLSClientConfig.RootCAs.AddCert(server.Certificate())
		a.url, a.client = server.URL, &http.Client{Transport: transport, Timeout: waitLimit}
		t.Cleanup(a.client.CloseIdleConnections)
		return &a
	}
	if got := as(trusted.issue(t, nil, identity)).post(t, "", b.hold, wire.Register); got.status != http.StatusOK {
		t.Errorf("the right one: %+v", got)
	}
	if diff := cmp.Diff([]string{"1 register checkout"}, b.audit(t)); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
	for _, uris := range [][]string{
		nil, {identity + "/"}, {identity + "-admin"}, {identity + "/sub"}, {"spiffe://example.org/"}, {"spiffe://example.org/check"},
		{"spiffe://EXAMPLE.org/checkout"}, {"https://example.org/checkout"}, {identity + "?x"}, {identity + "%2F"}, {identity, "spiffe://example.org/billing"},
	} {
		got := as(trusted.issue(t, nil, uris...)).post(t, checkout, b.hold, wire.Cancel) // the token beside it does not help
		wantProblem(t, got, http.StatusUnauthorized, wire.Unauthenticated)
		if t.Failed() {
			t.Fatal(uris)
		}
	}
	// A common name, or a DNS name, is no identity.
	got := as(trusted.issue(t, func(c *x509.Certificate) { c.DNSNames, c.Subject.CommonName = []string{identity}, identity })).post(t, "", b.hold, wire.Cancel)
	wantProblem(t, got, http.StatusUnauthorized, wire.Unauthenticated)
	// TLS refuses those of others, and those that are over.
	for _, certificate := range []tls.Certificate{
		other.issue(t, nil, identity),
		trusted.issue(t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }, identity),
		trusted.issue(t, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }, identity),
	} {
		if got, err := as(certificate).send(t, "", http.MethodPost, wire.VerbPath(b.hold, wire.Cancel), ""); err == nil && got.status != http.StatusUnauthorized {
			t.Errorf("a bad certificate gets %+v", got)
		}
	}
	wantProblem(t, as().post(t, "", b.hold, wire.Cancel), http.StatusUnauthorized, wire.Unauthenticated)
	if got := as().post(t, checkout, b.hold, wire.Release); got.status != http.StatusOK {
		t.Errorf("a token without a certificate: %+v", got)
	}
}

// A server that does not verify client certificates has none.
func TestUnverifiedCertificateIsNone(t *testing.T) {
	t.Parallel()
	certificates, err := holdhttp.NewCertificates(map[string]holdhttp.Caller{identity: {Name: "checkout"}})
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(identity)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{URIs: []*url.URL{u}}}}
	if caller, err := certificates.Authenticate(r); !errors.Is(err, holdhttp.ErrNoCredentials) {
		t.Errorf("caller is %+v, %v", caller, err)
	}
}

// A verified certificate of somebody else is bad, whatever another authenticator might say.
func TestVerifiedCertificateOfAnotherIsBad(t *testing.T) {
	t.Parallel()
	certificates, err := holdhttp.NewCertificates(map[string]holdhttp.Caller{identity: {Name: "checkout"}})
	if err != nil {
		t.Fatal(err)
	}
	for uri, want := range map[string]error{identity: nil, identity + "2": holdhttp.ErrBadCredentials} {
		u, err := url.Parse(uri)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.TLS = &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{{URIs: []*url.URL{u}}}}}
		if caller, err := certificates.Authenticate(r); !errors.Is(err, want) {
			t.Errorf("%s: caller is %+v, %v", uri, caller, err)
		}
	}
}

func TestCertificateSettings(t *testing.T) {
	t.Parallel()
	caller := holdhttp.Caller{Name: "checkout"}
	for part, callers := range map[string]map[string]holdhttp.Caller{
		"no certificate": {},
		"plain form":     {"checkout": caller},
		"no valid name":  {identity: {}},
		"in its plain":   {identity + "#": caller},
	} {
		if _, err := holdhttp.NewCertificates(callers); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: error is %v", part, err)
		}
	}
}
