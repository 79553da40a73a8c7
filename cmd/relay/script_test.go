package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/hold/holdhttp"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// TestScripts runs the command lines of testdata/script. Besides the commands of testscript they
// have:
//
//	[!] relay ARGS     runs the command; it must succeed, or with ! fail
//	exits N ARGS       runs the command; it must exit with N
//	database [empty]   makes a database and sets RELAY_DATABASE_URL, DATABASE and DATABASE_HOST
//	sql STATEMENT      runs a statement in it
//	stage N            commits N events into it, in one transaction
//	bury N CODE TYPE   makes N dead letters with a reason code, of events of a type
//	operator           makes RELAY_DATABASE_URL log in with the role of an operator
//	nats [user pass]   starts a server and sets RELAY_NATS_URL; with a login if given
//	stream NAME SUBJECT WINDOW   makes a stream with a dedup window
//	drain              lets a relay publish to RELAY_STREAM what waits, and settle it
//	lose FIRST LAST    deletes messages of RELAY_STREAM
//	forgets            waits until RELAY_STREAM remembers no message id
//	messages N [NAME]  wants RELAY_STREAM, or another stream, to have N messages
//	surface            serves the control surface of its holds and sets SURFACE
//	seal NAME FILE     sets a variable to the seal of a manifest
//	edit FILE OLD NEW  replaces a text in a file
//	rolefile FILE ROLE writes the address for a login with a role of the schema into a file
//	busyport [NAME]    sets RELAY_HTTP_ADDR, or another variable, to an address in use
//	sqlfile FILE       runs the statements of a file in the database
//	await QUERY        waits until a query is true
//	consume            runs an instance of the consumer ledger of RELAY_STREAM
//	refund EVENT TYPE REFUND ACCOUNT CENTS   publishes an event to RELAY_STREAM
//	oldwriter start|refused CODE   a writer that knows nothing of facts; waits until it is refused
//	export FILE LINE...            what the provider knows: the old writer's, and lines
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			t, ok := env.T().(testing.TB)
			if !ok {
				return errors.New("testscript's T is no testing.TB any more")
			}
			env.Setenv(mainEnv, "1")
			env.Setenv("RELAY", os.Args[0])
			env.Setenv("TERM", "dumb")
			env.Values[worldKey{}] = &world{TB: t}
			env.Values[oldWriterKey{}] = &oldWriter{}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"relay":    cmdRelay,
			"exits":    cmdExits,
			"database": cmdDatabase,
			"sql":      cmdSQL,
			"stage":    cmdStage,
			"bury":     cmdBury,
			"operator": cmdOperator,
			"nats":     cmdNATS,
			"natsweak": cmdNATSWeak,
			"stream":   cmdStream,
			"drain":    cmdDrain,
			"lose":     cmdLose,
			"forgets":  cmdForgets,
			"messages": cmdMessages,
			"surface":  cmdSurface,
			"seal":     cmdSeal,
			"edit":     cmdEdit,
			"rolefile": cmdRoleFile,
			"busyport": cmdBusyPort,

			"madeanew":  cmdMadeAnew,
			"openend":   cmdOpenEnd,
			"sqlfile":   cmdSQLFile,
			"await":     cmdAwait,
			"consume":   cmdConsume,
			"refund":    cmdRefund,
			"oldwriter": cmdOldWriter,
			"export":    cmdExport,
		},
	})
}

// world is what a script has made.
type world struct {
	testing.TB
	db *outboxtest.Database
}

type worldKey struct{}

func worldOf(ts *testscript.TestScript) *world { return ts.Value(worldKey{}).(*world) }

func cmdRelay(ts *testscript.TestScript, neg bool, args []string) {
	code := runRelay(ts, args)
	if neg == (code == 0) {
		ts.Fatalf("relay exited with %d", code)
	}
}

func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: exits N ARGS")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if code := runRelay(ts, args[1:]); code != want {
		ts.Fatalf("relay exited with %d, want %d", code, want)
	}
}

func runRelay(ts *testscript.TestScript, args []string) int {
	err := ts.Exec(ts.Getenv("RELAY"), args...)
	var exited *exec.ExitError
	if errors.As(err, &exited) {
		return exited.ExitCode()
	}
	ts.Check(err)
	return 0
}

func cmdDatabase(ts *testscript.TestScript, _ bool, args []string) {
	w := worldOf(ts)
	if len(args) == 1 && args[0] == "empty" {
		w.db = outboxtest.NewEmptyDatabase(w)
	} else {
		w.db = outboxtest.NewDatabase(w)
	}
	ts.Setenv("RELAY_DATABASE_URL", w.db.URL)
	ts.Setenv("DATABASE", w.db.Name)
	conn := w.db.Pool.Config().ConnConfig
	ts.Setenv("DATABASE_HOST", net.JoinHostPort(conn.Host, strconv.Itoa(int(conn.Port))))
}

func cmdSQL(ts *testscript.TestScript, _ bool, args []string) {
	_, err := worldOf(ts).db.Pool.Exec(worldOf(ts).Context(), args[0])
	ts.Check(err)
}

func cmdStage(ts *testscript.TestScript, _ bool, args []string) {
	w := worldOf(ts)
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	stage(w, w.db, n)
}

// cmdBury makes dead letters as a relay does, with a payload that nobody may see.
func cmdBury(ts *testscript.TestScript, _ bool, args []string) {
	w := worldOf(ts)
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	const sql = `with dead as (
	  insert into outbox.outbox_dead_letter (relay_group, lane, seq, staged_at, attempts, reason_code, reason_detail_sha256,
	    event_id, source, type, partition_key, datacontenttype, extensions, data)
	  select 'default', 1, nextval('outbox.event_outbox_seq'), now(), 13, $2::text, sha256('what the broker said'),
	    $3::text || '-' || i, '/orders', $3::text, 'key-' || i, 'application/json', '{}', 'SECRET'
	    from generate_series(1, $1::int) as i returning *)
	insert into outbox.outbox_dead_letter_history (dead_letter_id, seq, attempts, requeue_epoch, lane, relay_group, event_id, action, actor, reason)
	select id, seq, attempts, 0, lane, relay_group, event_id, 'dead-lettered', 'relay', reason_code from dead order by id`
	_, err = w.db.Pool.Exec(w.Context(), sql, n, args[1], args[2])
	ts.Check(err)
}

func cmdOperator(ts *testscript.TestScript, _ bool, _ []string) {
	w := worldOf(ts)
	address, err := loginAs(w.Context(), w.db, canonical.Operator)
	ts.Check(err)
	ts.Setenv("RELAY_DATABASE_URL", address)
}

// loginAs makes the roles of a database, and returns its address for a login with one of them.
func loginAs(ctx context.Context, db *outboxtest.Database, as canonical.Role) (string, error) {
	names := gen.RoleNames{}
	for _, role := range canonical.Roles() {
		names[role] = db.Name + "_" + string(role)
	}
	sql, err := gen.Roles(canonical.DefaultParams(), names)
	if err != nil {
		return "", err
	}
	if _, err := db.Pool.Exec(ctx, sql); err != nil {
		return "", err
	}
	login := db.Name + "_" + string(as) + "_person"
	if _, err = db.Pool.Exec(ctx, "create role "+login+" login in role "+names[as]); err != nil {
		return "", err
	}
	u, err := url.Parse(db.URL)
	if err != nil {
		return "", err
	}
	u.User = url.User(login)
	return u.String(), nil
}

// cmdRoleFile writes the address for a login with one role into a file: "rolefile FILE ROLE".
func cmdRoleFile(ts *testscript.TestScript, _ bool, args []string) {
	w := worldOf(ts)
	role, err := canonical.ParseRole(args[1])
	ts.Check(err)
	address, err := loginAs(w.Context(), w.db, role)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(address), 0o600))
}

func cmdNATS(ts *testscript.TestScript, _ bool, args []string) {
	w := worldOf(ts)
	server := outboxtest.NewNATS(w, func(o *harness.NATSOptions) {
		if len(args) == 2 {
			*o = withLogin(*o, args[0], args[1])
		}
	})
	ts.Setenv("RELAY_NATS_URL", server.URL())
}

func cmdBusyPort(ts *testscript.TestScript, _ bool, args []string) {
	name := "RELAY_HTTP_ADDR"
	if len(args) == 1 {
		name = args[0]
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { ts.Check(listener.Close()) })
	ts.Setenv(name, listener.Addr().String())
}

// cmdSurface serves the control surface for two services.
func cmdSurface(ts *testscript.TestScript, _ bool, _ []string) {
	w := worldOf(ts)
	var list []holdhttp.Token
	for _, name := range []string{"checkout", "billing"} {
		list = append(list, holdhttp.Token{SHA256: holdhttp.HashToken(name + "-secret-0123456789"), Caller: holdhttp.Caller{Name: name, Roles: []string{"service"}}})
	}
	tokens, err := holdhttp.NewTokens(list...)
	ts.Check(err)
	handler, err := holdhttp.New(w.db.Pool, holdhttp.Config{Authenticators: []holdhttp.Authenticator{tokens},
		Callers: []string{"checkout", "billing"}, Logger: slog.New(slog.DiscardHandler)})
	ts.Check(err)
	server := httptest.NewServer(handler)
	ts.Defer(server.Close)
	ts.Setenv("SURFACE", server.URL)
}

// stage commits n events of one key.
func stage(t testing.TB, db *outboxtest.Database, n int) {
	t.Helper()
	const sql = `select outbox.publish_text('/orders', 'order.placed', '{"n":' || n || '}', partitionkey => 'key-' || n % 7)
	               from generate_series(1, $1::int) as n`
	if _, err := db.Pool.Exec(t.Context(), sql, n); err != nil {
		t.Fatalf("stage %d events: %v", n, err)
	}
}

// withLogin makes a server that wants a user and a password.
func withLogin(o harness.NATSOptions, user, password string) harness.NATSOptions {
	o.Configure = func(s *serverOptions) { s.Username, s.Password = user, password }
	return o
}
