package settings

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/relay"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// masked stands for a secret.
const masked = "xxxxx"

// notShown stands for a connection string that cannot be understood.
const notShown = "(not shown: it cannot be understood and may hold a password)"

// errNotShown stands for an error whose text may hold a secret.
var errNotShown = errors.New("it cannot be understood, and is not shown because it may hold a password")

// Pool returns the settings of a pool for that many workers, which reads the password file again for each
// connection. Its errors hold no part of a
// connection string that might be a password.
func (s *Settings) Pool(workers int) (*pgxpool.Config, error) {
	if ambiguous(s.DatabaseURL) {
		return nil, errNotShown
	}
	cfg, err := relay.PoolConfig(s.DatabaseURL, workers)
	var unreadable *pgconn.ParseConfigError
	if errors.As(err, &unreadable) {
		return nil, readable(s.DatabaseURL)
	}
	if err == nil {
		cfg.BeforeConnect = s.relogin
	}
	return cfg, err
}

// pgVariables are those by which one can mean a database without naming a URL.
var pgVariables = []string{"PGHOST", "PGHOSTADDR", "PGSERVICE", "PGDATABASE", "PGUSER", "PGPORT"}

// standard says which of them are set, as the origin of the database when it has no URL.
func (l *loader) standard() Origin {
	var set []string
	for _, name := range pgVariables {
		if l.env[name] != "" {
			set = append(set, name)
		}
	}
	if set == nil {
		return Origin{}
	}
	return Origin{"env", strings.Join(set, ", ")}
}

func (l *loader) checkDatabase(loaded *Loaded) {
	if schema := loaded.value(Prefix + "SCHEMA"); !canonical.ValidIdentifier(loaded.Schema) {
		l.add("write a plain lower-case name such as outbox", "%s: %q is not the name of a database schema", schema.named(), schema.Text)
	}
	v := loaded.value(Prefix + "DATABASE_URL")
	if loaded.DatabaseURL == "" {
		if l.refused[v.Name] {
			return // what was given could not be read
		}
		if v.Origin.Kind == "" {
			l.add("set RELAY_DATABASE_URL=postgres://user:password@host:5432/database, RELAY_DATABASE_URL_FILE to a file that holds it, or PGHOST and the other standard variables",
				"no database is configured")
			return
		}
	}
	if _, err := loaded.Pool(loaded.Workers); err != nil {
		hint := "correct the option"
		if errors.Is(err, errNotShown) {
			hint = "write postgres://user:password@host:5432/database, with each of @ : / ? # % in the password as %40 %3A %2F %3F %23 %25"
		}
		l.add(hint, "%s: %s", v.named(), strings.TrimPrefix(err.Error(), "database url: "))
	}
}

func isURL(text string) bool {
	return strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://")
}

// ambiguous reports a URL in which a password with an unescaped @ / ? or # may have ended up as
// something else, such as a host, which logs would show.
func ambiguous(text string) bool {
	if !isURL(text) {
		return false
	}
	u, err := url.Parse(text)
	if err != nil {
		return true
	}
	hidden := u.User == nil && strings.Contains(text, "@")
	return hidden || u.Fragment != "" || strings.Contains(u.EscapedPath(), "@")
}

// readable says what is wrong with a connection string without its secrets: it is
// judged again with nothing but its options.
func readable(text string) error {
	u, err := url.Parse(text)
	if !isURL(text) || err != nil {
		return errNotShown
	}
	options := u.Query()
	options.Del("password")
	options.Del("sslpassword")
	_, err = relay.PoolConfig("postgres://host?"+options.Encode(), 1)
	var unreadable *pgconn.ParseConfigError
	if !errors.As(err, &unreadable) {
		return errNotShown
	}
	return unreadable
}

// shownDatabase returns a connection string without its passwords.
func shownDatabase(s *Settings) string {
	cfg, err := s.Pool(1)
	if err != nil {
		return notShown
	}
	if u, err := url.Parse(s.DatabaseURL); err == nil && isURL(s.DatabaseURL) {
		if _, has := u.User.Password(); has {
			u.User = url.UserPassword(u.User.Username(), masked)
		}
		options := u.Query()
		for _, secret := range []string{"password", "sslpassword"} {
			if options.Has(secret) {
				options.Set(secret, masked)
			}
		}
		u.RawQuery = options.Encode()
		return u.String()
	}
	c := cfg.ConnConfig
	text := fmt.Sprintf("host=%s port=%d user=%s dbname=%s", c.Host, c.Port, c.User, c.Database)
	if c.Password != "" {
		text += " password=" + masked
	}
	return text
}
