package surface

import (
	"crypto/tls"
	"sync"
	"time"
)

// readAgain is how long a certificate counts before its files are looked at again.
const readAgain = 10 * time.Second

// Certificate returns what tls.Config.GetCertificate wants: the pair in two files, which is read again when
// it may have been replaced. The first pair is already loaded.
func Certificate(certFile, keyFile string, first tls.Certificate) func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	var mu sync.Mutex // guards current and read
	current, read := &first, time.Now()
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(read) > readAgain {
			read = time.Now()
			if pair, err := tls.LoadX509KeyPair(certFile, keyFile); err == nil {
				current = &pair
			}
		}
		return current, nil
	}
}
