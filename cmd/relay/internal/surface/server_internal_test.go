package surface

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

func start(t *testing.T, addr string) (*Server, error) {
	t.Helper()
	s, err := Start(t.Context(), Config{Addr: addr, Handler: http.NotFoundHandler(), Call: time.Second, Stop: time.Second, Log: slog.New(slog.DiscardHandler)})
	if err == nil {
		t.Cleanup(s.Stop)
	}
	return s, err
}

func TestServerThatFailsSaysSo(t *testing.T) {
	t.Parallel()
	s, err := start(t, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := start(t, s.Addr().String()); err == nil {
		t.Error("a port was taken twice")
	}
	if s.Failed() != nil {
		t.Errorf("it failed before anything did: %v", s.Failed())
	}
	if err := s.listener.Close(); err != nil {
		t.Fatal(err)
	}
	<-s.served
	if !errors.Is(s.Failed(), net.ErrClosed) {
		t.Errorf("it says %v", s.Failed())
	}
	stopped, err := start(t, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	stopped.Stop()
	stopped.Stop()
	if stopped.Failed() != nil {
		t.Errorf("a stop is no failure: %v", stopped.Failed())
	}
}

// Who opens connections and does nothing takes places, and no more than there are.
func TestConnectionWaitsForAPlace(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &boundedListener{Listener: inner, places: make(chan struct{}, 1), closed: make(chan struct{})}
	for range 2 {
		client, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
	}
	first, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	second := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if len(l.places) != 1 {
			err = errors.New("a place too many")
		}
		second <- errors.Join(err, conn.Close())
	}()
	for range 2 { // a place is given back once
		if err := first.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Fatal(err)
		}
	}
	if err := <-second; err != nil {
		t.Error(err)
	}
	l.places <- struct{}{}
	third := make(chan error, 1)
	go func() {
		_, err := l.Accept()
		third <- err
	}()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-third; !errors.Is(err, net.ErrClosed) {
		t.Errorf("an accept that waits for a place ends with %v", err)
	}
}

// pair makes a certificate with a serial number in the two files.
func pair(t *testing.T, certFile, keyFile string, serial int64) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600),
		os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

func TestCertificateThatWasReplacedIsUsed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	certFile, keyFile := filepath.Join(folder, "cert"), filepath.Join(folder, "key")
	synctest.Test(t, func(t *testing.T) {
		get := Certificate(certFile, keyFile, pair(t, certFile, keyFile, 1))
		want := func(serial int64) {
			t.Helper()
			c, err := get(nil)
			if err != nil || c.Leaf.SerialNumber.Int64() != serial {
				t.Errorf("serial number %v, error %v, want %d", c.Leaf.SerialNumber, err, serial)
			}
		}
		want(1)
		pair(t, certFile, keyFile, 2)
		want(1) // it is not read at each handshake
		time.Sleep(readAgain + 1)
		want(2)
		if err := os.WriteFile(keyFile, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(readAgain + 1)
		want(2)
	})
}
