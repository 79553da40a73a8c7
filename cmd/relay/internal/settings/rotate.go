package settings

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go"
)

// rotated returns how to read again the secrets that came from files. A secret that was changed since
// counts at the next login, without a restart. While its file is gone or empty, as in the
// midst of a change, what was read last counts. Each function is for one goroutine at a time or
// many: it keeps nothing but what the process began with.
func rotated(values []Value, readFile func(string) ([]byte, error)) map[string]func() string {
	var all map[string]func() string
	for _, v := range values {
		if !v.Secret || v.Origin.Kind != "file" || v.Text == "" {
			continue
		}
		if all == nil {
			all = map[string]func() string{}
		}
		all[v.Name] = func() string {
			data, err := readFile(v.Origin.Name)
			text := strings.TrimRight(string(data), "\r\n")
			if err != nil || text == "" || strings.ContainsRune(text, 0) {
				return v.Text
			}
			return text
		}
	}
	return all
}

// relogin gives a new connection the user and the password of today: of the file that holds the
// URL, or of the password file that the URL or the environment names. A new host or
// database needs a restart.
func (s *Settings) relogin(_ context.Context, c *pgx.ConnConfig) error {
	text := s.DatabaseURL
	if again := s.Rotated[Prefix+"DATABASE_URL"]; again != nil {
		text = again()
	}
	if ambiguous(text) {
		return nil // half a file: what the process began with counts
	}
	now, err := pgx.ParseConfig(text)
	if err != nil {
		return nil //nolint:nilerr // the same, and the error may hold the password
	}
	c.User, c.Password = now.User, now.Password
	return nil
}

// natsLogin returns the options of a login by password or token.
func (s *Settings) natsLogin() []nats.Option {
	var opts []nats.Option
	password, token := s.Rotated[Prefix+"NATS_PASSWORD"], s.Rotated[Prefix+"NATS_TOKEN"]
	switch {
	case s.NATSUser != "" && password != nil:
		opts = append(opts, nats.UserInfoHandler(func() (string, string) { return s.NATSUser, password() }))
	case s.NATSUser != "":
		opts = append(opts, nats.UserInfo(s.NATSUser, s.NATSPassword))
	}
	switch {
	case s.NATSToken != "" && token != nil:
		opts = append(opts, nats.TokenHandler(nats.AuthTokenHandler(token)))
	case s.NATSToken != "":
		opts = append(opts, nats.Token(s.NATSToken))
	}
	return opts
}
