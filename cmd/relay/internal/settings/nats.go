package settings

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
)

// Servers returns the addresses of the NATS servers, as the client wants them.
func (s *Settings) Servers() string {
	servers := strings.Split(s.NATSURL, ",")
	for i := range servers {
		servers[i] = strings.TrimSpace(servers[i])
	}
	return strings.Join(servers, ",")
}

// Login returns the options with which the client logs in and checks the servers' certificates. Files
// are read again at each login.
func (s *Settings) Login() []nats.Option {
	var opts []nats.Option
	if s.NATSCredsFile != "" {
		opts = append(opts, nats.UserCredentials(s.NATSCredsFile))
	}
	opts = append(opts, s.natsLogin()...)
	if s.NATSCAFile != "" {
		opts = append(opts, nats.RootCAs(s.NATSCAFile))
	}
	if s.NATSCertFile != "" {
		opts = append(opts, nats.ClientCert(s.NATSCertFile, s.NATSKeyFile))
	}
	return opts
}

func (l *loader) checkNATS(loaded *Loaded) {
	v := loaded.value(Prefix + "NATS_URL")
	for server := range strings.SplitSeq(loaded.NATSURL, ",") {
		u, err := parseServer(server)
		switch {
		case err != nil:
			l.add("write nats://host:4222, or tls://, ws:// or wss://, separated by commas; each of @ : / ? # % and the comma in a password as %40 %3A %2F %3F %23 %25 %2C",
				"%s: %v", v.named(), err)
			return
		case u.User != nil && v.Origin.Kind == "flag":
			l.add("use RELAY_NATS_URL, or RELAY_NATS_PASSWORD_FILE or RELAY_NATS_TOKEN_FILE", "%s has a password, which every user of this machine can see in a flag", v.named())
			return
		}
	}
	var ways []string
	for _, way := range []struct{ name, text string }{
		{"RELAY_NATS_CREDS_FILE", loaded.NATSCredsFile}, {"RELAY_NATS_USER", loaded.NATSUser}, {"RELAY_NATS_TOKEN", loaded.NATSToken},
	} {
		if way.text != "" {
			ways = append(ways, way.name)
		}
	}
	if len(ways) > 1 {
		l.add("keep one of them", "%s are both ways to log in to NATS", strings.Join(ways, " and "))
	}
	l.pair("RELAY_NATS_USER", loaded.NATSUser, "RELAY_NATS_PASSWORD", loaded.NATSPassword)
	l.pair("RELAY_NATS_TLS_CERT_FILE", loaded.NATSCertFile, "RELAY_NATS_TLS_KEY_FILE", loaded.NATSKeyFile)
	l.checkNATSFiles(loaded)
}

// pair reports two settings of which only one is there.
func (l *loader) pair(a, textA, b, textB string) {
	if (textA == "") == (textB == "") || l.refused[a] || l.refused[b] {
		return
	}
	have, lacks := a, b
	if textA == "" {
		have, lacks = b, a
	}
	l.add("set both or neither", "%s is set without %s", have, lacks)
}

func (l *loader) checkNATSFiles(loaded *Loaded) {
	read := func(name, path string) []byte {
		if path == "" {
			return nil
		}
		data, err := l.src.ReadFile(path)
		if err != nil {
			l.add("check that the file exists and that this user may read it", "%s: cannot read the file: %v", name, err)
		}
		return data
	}
	read("RELAY_NATS_CREDS_FILE", loaded.NATSCredsFile)
	if ca := read("RELAY_NATS_TLS_CA_FILE", loaded.NATSCAFile); ca != nil && !x509.NewCertPool().AppendCertsFromPEM(ca) {
		l.add("use a file with certificates in PEM", "RELAY_NATS_TLS_CA_FILE: %s has no certificate", loaded.NATSCAFile)
	}
	cert, key := read("RELAY_NATS_TLS_CERT_FILE", loaded.NATSCertFile), read("RELAY_NATS_TLS_KEY_FILE", loaded.NATSKeyFile)
	if cert != nil && key != nil {
		if _, err := tls.X509KeyPair(cert, key); err != nil {
			l.add("use the certificate's own key, both in PEM", "RELAY_NATS_TLS_CERT_FILE and RELAY_NATS_TLS_KEY_FILE: %v", err)
		}
	}
}

// parseServer reads one address. Its errors hold nothing of it.
func parseServer(server string) (*url.URL, error) {
	server = strings.TrimSpace(server)
	if !strings.Contains(server, "://") {
		server = "nats://" + server
	}
	u, err := url.Parse(server)
	if err != nil || u.User == nil && strings.Contains(server, "@") || strings.Contains(u.EscapedPath(), "@") || u.Fragment != "" {
		return nil, errNotShown
	}
	if !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme) || u.Hostname() == "" {
		return nil, errors.New("not the address of a NATS server")
	}
	return u, nil
}

// shownServers returns the addresses without their passwords.
func shownServers(text string) string {
	var shown []string
	for server := range strings.SplitSeq(text, ",") {
		u, err := parseServer(server)
		if err != nil {
			return notShown
		}
		if _, has := u.User.Password(); has {
			u.User = url.UserPassword(u.User.Username(), masked)
		} else if u.User != nil {
			u.User = url.User(masked) // a name alone is a token
		}
		shown = append(shown, u.String())
	}
	return strings.Join(shown, ",")
}
