package main

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// TestRunTakesUpRotatedPasswords: the passwords of Postgres and NATS are changed, and their files too. The relay
// that runs logs in with the new ones when it connects again, and is not started anew.
func TestRunTakesUpRotatedPasswords(t *testing.T) {
	t.Parallel()
	cluster := outboxtest.NewCluster(t, harness.PostgresOptions{})
	db := outboxtest.NewDatabaseIn(t, cluster)
	demandPassword(t, db)
	password := "first"
	broker := outboxtest.NewNATS(t, func(o *harness.NATSOptions) {
		o.Configure = func(o *server.Options) {
			o.Users = []*server.User{{Username: "admin", Password: "admin"}, {Username: "relay", Password: password}}
		}
	})
	nc, err := nats.Connect(broker.URL(), nats.UserInfo("admin", "admin"), nats.MaxReconnects(-1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"events.>"}}); err != nil {
		t.Fatal(err)
	}
	urlFile, passwordFile := filepath.Join(t.TempDir(), "url"), filepath.Join(t.TempDir(), "password")
	change := func(to string) {
		t.Helper()
		u, err := url.Parse(db.URL)
		if err != nil {
			t.Fatal(err)
		}
		u.User = url.UserPassword("rotated", to)
		replaceFile(t, urlFile, u.String())
		replaceFile(t, passwordFile, to)
	}

	change("first")
	p := startRelay(t, os.Args[0], "RELAY_DATABASE_URL_FILE="+urlFile, "RELAY_NATS_URL="+broker.URL(),
		"RELAY_NATS_USER=relay", "RELAY_NATS_PASSWORD_FILE="+passwordFile, "RELAY_UNREADY_AFTER=1s", "RELAY_RETRY_MAX=100ms")
	stage(t, db, 20)
	stored(t, js, 20)

	broker.Stop()
	password = "second"
	change(password)
	if _, err := db.Pool.Exec(t.Context(), "ALTER ROLE rotated PASSWORD 'second'"); err != nil {
		t.Fatal(err)
	}
	if n := query(t, db, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'rotated'"); n == 0 {
		t.Fatal("the relay has no connection with its role")
	}
	if err := broker.Start(); err != nil {
		t.Fatal(err)
	}
	stage(t, db, 20)
	eventually(t, "the stream answers", func() bool { _, err := js.Stream(t.Context(), "ORDERS"); return err == nil })
	stored(t, js, 40)
	p.awaitReady(200)
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != 0 {
		t.Errorf("exited with %d", code)
	}
	if log := p.log(); strings.Contains(log, "first") || strings.Contains(log, "second") {
		t.Errorf("a password is in the log:\n%s", log)
	}
}

// demandPassword makes a role that has to show its password to the server, which is the test's own.
func demandPassword(t *testing.T, db *outboxtest.Database) {
	t.Helper()
	var path string
	if err := db.Pool.QueryRow(t.Context(), "SHOW hba_file").Scan(&path); err != nil {
		t.Fatal(err)
	}
	rules, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append([]byte("host all rotated all scram-sha-256\n"), rules...), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{"CREATE ROLE rotated LOGIN SUPERUSER PASSWORD 'first'", "SELECT pg_reload_conf()"} {
		if _, err := db.Pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	wrong, err := pgx.ParseConfig(strings.Replace(db.URL, "postgres@", "rotated:wrong@", 1))
	if err != nil || wrong.User != "rotated" {
		t.Fatalf("user %q: %v", wrong.User, err)
	}
	eventually(t, "the server wants the password", func() bool {
		conn, err := pgx.ConnectConfig(t.Context(), wrong)
		if err == nil {
			_ = conn.Close(t.Context()) // it should not have been let in
		}
		return err != nil && strings.Contains(fmt.Sprint(err), "28P01")
	})
}

// replaceFile changes a file as those do who mount secrets: at once.
func replaceFile(t *testing.T, path, text string) {
	t.Helper()
	next := path + ".next"
	if err := os.WriteFile(next, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, path); err != nil {
		t.Fatal(err)
	}
}
