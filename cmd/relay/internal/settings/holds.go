package settings

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strconv"
	"strings"
	"unicode"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/hold/holdhttp"
)

// Surface is the control surface that the settings describe.
type Surface struct {
	holdhttp.Config
	// Certificate and ClientCAs are nil where there is no TLS, and no client certificate is asked for.
	Certificate *tls.Certificate
	ClientCAs   *x509.CertPool
	jwt         *holdhttp.JWT
}

// Close ends the idle connections to the provider of tokens.
func (s *Surface) Close() {
	if s.jwt != nil {
		s.jwt.Close()
	}
}

// holdConcurrent is how many calls of the surface use the database at once.
const holdConcurrent = 4

// HoldPool returns the settings of the surface's own pool.
func (s *Settings) HoldPool() (*pgxpool.Config, error) {
	own := *s
	if s.HoldDatabaseURL != "" {
		own.DatabaseURL, own.Rotated = s.HoldDatabaseURL, nil
		if again := s.Rotated[Prefix+"HOLD_DATABASE_URL"]; again != nil {
			own.Rotated = map[string]func() string{Prefix + "DATABASE_URL": again}
		}
	}
	return own.Pool(holdConcurrent)
}

// HoldSurface reads the files that the settings name. Errors: [*Error], with every problem.
func (s *Settings) HoldSurface(readFile func(string) ([]byte, error)) (*Surface, error) {
	f := &faults{}
	surface := &Surface{Config: holdhttp.Config{Schema: s.Schema, Callers: listOf(s.HoldCallers), OperatorRole: s.HoldOperatorRole,
		Timeout: s.HoldTimeout, Concurrent: holdConcurrent}}
	s.holdTLS(f, surface, readFile)
	s.holdCredentials(f, surface, readFile)
	if s.HoldOIDCIssuer != "" {
		jwt, err := holdhttp.NewJWT(holdhttp.JWTConfig{Issuer: s.HoldOIDCIssuer, Audience: s.HoldOIDCAudience, Algorithms: listOf(s.HoldOIDCAlgorithms)})
		if f.configuration("RELAY_HOLD_OIDC_ISSUER", err) {
			surface.jwt = jwt
			surface.Authenticators = append(surface.Authenticators, jwt)
		}
	}
	if f.list == nil {
		f.configuration("RELAY_HOLD_ADDR", surface.Validate())
	}
	return surface, f.error()
}

// configuration takes over the problems of the handler, under the name of a setting.
func (f *faults) configuration(name string, err error) (good bool) {
	var refused *holdhttp.ConfigError
	switch {
	case err == nil:
		return true
	case errors.As(err, &refused):
		for _, problem := range refused.Problems {
			hint := "`relay config env` explains every setting"
			if strings.HasPrefix(problem, "no authenticator") || strings.HasPrefix(problem, "neither callers") {
				hint = "set RELAY_HOLD_CREDENTIALS_FILE or RELAY_HOLD_OIDC_ISSUER, and RELAY_HOLD_CALLERS or RELAY_HOLD_OPERATOR_ROLE"
			}
			f.add(hint, "%s: %s", name, problem)
		}
	default:
		f.add("", "%s: %v", name, err)
	}
	return false
}

func (s *Settings) holdTLS(f *faults, surface *Surface, readFile func(string) ([]byte, error)) {
	read := func(name, path string) []byte {
		if path == "" {
			return nil
		}
		data, err := readFile(path)
		if err != nil {
			f.add("check that the file exists and that this user may read it", "%s: cannot read the file: %v", name, err)
		}
		return data
	}
	cert, key := read("RELAY_HOLD_TLS_CERT_FILE", s.HoldCertFile), read("RELAY_HOLD_TLS_KEY_FILE", s.HoldKeyFile)
	if cert != nil && key != nil {
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			f.add("use the certificate's own key, both in PEM", "RELAY_HOLD_TLS_CERT_FILE and RELAY_HOLD_TLS_KEY_FILE: %v", err)
		}
		surface.Certificate = &pair
	}
	ca := read("RELAY_HOLD_TLS_CLIENT_CA_FILE", s.HoldClientCAFile)
	if ca == nil {
		return
	}
	surface.ClientCAs = x509.NewCertPool()
	if !surface.ClientCAs.AppendCertsFromPEM(ca) {
		f.add("use a file with certificates in PEM", "RELAY_HOLD_TLS_CLIENT_CA_FILE: %s has no certificate", s.HoldClientCAFile)
	}
	if s.HoldCertFile == "" {
		f.add("client certificates need TLS: set both", "RELAY_HOLD_TLS_CLIENT_CA_FILE is set without RELAY_HOLD_TLS_CERT_FILE")
	}
}

// holdCredentials reads the lines "CALLER ROLE[,ROLE] sha256:HASH-OF-A-TOKEN" and "CALLER ROLE[,ROLE] URI". Nothing of a
// line is shown.
func (s *Settings) holdCredentials(f *faults, surface *Surface, readFile func(string) ([]byte, error)) {
	const name = "RELAY_HOLD_CREDENTIALS_FILE"
	if s.HoldCredentialsFile == "" {
		return
	}
	text, err := readFile(s.HoldCredentialsFile)
	if err != nil {
		f.add("check that the file exists and that this user may read it", "%s: cannot read the file: %v", name, err)
		return
	}
	var tokens []holdhttp.Token
	uris := map[string]holdhttp.Caller{}
	for i, line := range strings.Split(string(text), "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(words) != 3 {
			f.add("write CALLER ROLE[,ROLE] and sha256:HASH of a token, or the URI of a client certificate", "%s: line %d has %d words", name, i+1, len(words))
			return
		}
		caller := holdhttp.Caller{Name: words[0], Roles: listOf(words[1])}
		if hash, is := strings.CutPrefix(words[2], "sha256:"); is {
			tokens = append(tokens, holdhttp.Token{SHA256: hash, Caller: caller})
		} else if _, twice := uris[words[2]]; twice || !strings.Contains(words[2], "://") {
			f.add("`printf %s TOKEN | sha256sum` makes the hash of a token", "%s: line %d has neither sha256:HASH nor a URI that is there once", name, i+1)
			return
		} else {
			uris[words[2]] = caller
		}
	}
	if len(uris) > 0 && s.HoldClientCAFile == "" {
		f.add("set RELAY_HOLD_TLS_CLIENT_CA_FILE to the authority of the client certificates", "%s names client certificates, which nobody asks for", name)
	}
	if len(uris) > 0 {
		certificates, err := holdhttp.NewCertificates(uris)
		if f.configuration(name, err) {
			surface.Authenticators = append(surface.Authenticators, certificates)
		}
	}
	if len(tokens) > 0 || len(uris) == 0 {
		list, err := holdhttp.NewTokens(tokens...)
		if f.configuration(name, err) {
			surface.Authenticators = append(surface.Authenticators, list)
		}
	}
}

// checkHolds judges the control surface, which is off without an address.
func (l *loader) checkHolds(loaded *Loaded) {
	if loaded.HoldAddr == "" {
		for _, v := range loaded.Values {
			if v.Section == Holds && v.Text != "" && v.Default == "" {
				l.add("set RELAY_HOLD_ADDR to serve the control surface, or leave this out", "%s is set without RELAY_HOLD_ADDR", v.named())
			}
		}
		return
	}
	v := loaded.value(Prefix + "HOLD_ADDR")
	host, isAddress := l.checkAddr(v, loaded.HoldAddr)
	l.pair("RELAY_HOLD_TLS_CERT_FILE", loaded.HoldCertFile, "RELAY_HOLD_TLS_KEY_FILE", loaded.HoldKeyFile)
	loopback := host == "localhost" || net.ParseIP(host).IsLoopback()
	if isAddress && !loopback && loaded.HoldCertFile == "" && !loaded.HoldPlaintext {
		l.add("set RELAY_HOLD_TLS_CERT_FILE and RELAY_HOLD_TLS_KEY_FILE, or RELAY_HOLD_PLAINTEXT=true where something else encrypts",
			"%s: %q is not on loopback, and tokens would travel in plain text", v.named(), v.Text)
	}
	if loaded.HoldDatabaseURL != "" {
		if _, err := loaded.HoldPool(); err != nil {
			l.add("correct it as you would RELAY_DATABASE_URL", "%s: %s", loaded.value(Prefix+"HOLD_DATABASE_URL").named(), strings.TrimPrefix(err.Error(), "database url: "))
		}
	}
	_, err := loaded.HoldSurface(l.src.ReadFile)
	var bad *Error
	if errors.As(err, &bad) {
		l.list = append(l.list, bad.Problems...)
	}
}

// checkAddr wants host:port.
func (l *loader) checkAddr(v Value, text string) (host string, good bool) {
	host, port, err := net.SplitHostPort(text)
	n, portErr := strconv.Atoi(port)
	if err != nil || portErr != nil || n < 0 || n > 65535 {
		l.add("write host:port, such as 127.0.0.1:9090 or :9090 for every interface", "%s: %q is not an address to listen on", v.named(), v.Text)
		return "", false
	}
	return host, true
}

// listOf splits at commas and spaces.
func listOf(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
}
