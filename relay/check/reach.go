package check

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/outbox"
)

// SQLSTATEs that say why there is no session.
const (
	codeNoDatabase  = "3D000"
	codeTooMany     = "53300"
	codeNotAllowed  = "42501"
	codeStarting    = "57P03"
	classOfLogins   = "28"
	classOfShutdown = "57P"
)

// databaseFinding is about reaching the server, and nothing else.
func databaseFinding(f *facts) Finding {
	d := f.db
	code := stateOf(d.connectErr)
	switch {
	case d.connectErr == nil && d.lost == nil:
		return ok("Postgres answers: %s", d.place)
	case d.lost != nil:
		return away("check the load and the network of the server", "the database stopped answering: %s: %s", d.place, line(d.lost))
	case isLogin(code):
		return ok("Postgres answers: %s", d.place)
	case code == codeNoDatabase:
		return fail("check the name of the database in RELAY_DATABASE_URL", "there is no such database: %s", d.place)
	case code == codeTooMany:
		return away("raise max_connections, or lower RELAY_WORKERS", "no connection is left: %s: %s", d.place, line(d.connectErr))
	case code == codeStarting || strings.HasPrefix(code, classOfShutdown):
		return away("wait: the server is starting or stopping", "the database is not ready: %s: %s", d.place, line(d.connectErr))
	default:
		return away("check that the server runs and can be reached from here: relay config print shows its address",
			"the database cannot be reached: %s: %s", d.place, line(d.connectErr))
	}
}

func loginFinding(f *facts) Finding {
	if f.db.connectErr == nil {
		return ok("logged in as %s", f.db.server.Role)
	}
	return fail("check the user and the password of RELAY_DATABASE_URL, and pg_hba.conf",
		"the database refuses the login: %s", line(f.db.connectErr))
}

func isLogin(code string) bool {
	return strings.HasPrefix(code, classOfLogins) || code == codeNotAllowed
}

func stateOf(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// away is a failure that waiting may mend.
func away(hint, format string, args ...any) Finding {
	f := fail(hint, format, args...)
	f.Away = true
	return f
}

// line makes one line of an error.
func line(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// refusedFinding is for a check whose question the server refused.
func refusedFinding(err error) Finding {
	hint := outbox.Hint(err)
	if hint == "" {
		hint = "see SQLSTATE " + stateOf(err)
	}
	return fail(hint, "the database refuses the question: %s", line(err))
}
