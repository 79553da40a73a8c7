package check_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/relay/check"
)

// TestOwnCluster breaks what belongs to a whole server, on one of its own.
func TestOwnCluster(t *testing.T) {
	t.Parallel()
	cluster := outboxtest.NewCluster(t, harness.PostgresOptions{Settings: map[string]string{"max_prepared_transactions": "2"}})
	b := &bench{t: t, db: outboxtest.NewDatabaseIn(t, cluster)}
	b.prepare()
	b.Before = true // no stream is needed here
	b.useNATS(outboxtest.NewNATS(t))
	b.clean()

	t.Run("old prepared transaction", func(t *testing.T) {
		b := b.on(t)
		b.prepareTransaction("left-behind")
		b.MaxAge = time.Microsecond
		b.finds("prepared-transactions", check.Warn, `transaction "left-behind" is prepared for`, "ROLLBACK PREPARED")
		b.exec("ROLLBACK PREPARED 'left-behind'")
	})
	t.Run("wrong password", func(t *testing.T) {
		b := b.on(t)
		b.wantPasswords()
		b.connectAs(b.login())
		b.Database.ConnConfig.Password = "hunter2"
		b.finds("database-login", check.Fail, "refuses the login", "the password of RELAY_DATABASE_URL")
		b.Database.ConnConfig.Password = "right"
		b.clean()
	})
	t.Run("standby", func(t *testing.T) {
		b := b.on(t)
		b.Database.ConnConfig.Password = "right"
		b.becomeStandby(cluster)
		b.finds("primary", check.Fail, "is a standby in recovery", "connect to the primary")
	})
}

func (b *bench) prepareTransaction(name string) {
	b.t.Helper()
	err := pgx.BeginFunc(b.t.Context(), b.db.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(b.t.Context(), "SELECT pg_current_xact_id()"); err != nil {
			return err
		}
		_, err := tx.Exec(b.t.Context(), "PREPARE TRANSACTION '"+name+"'")
		return err
	})
	if err != nil && err != pgx.ErrTxCommitRollback { //nolint:errorlint // PREPARE has ended the transaction
		b.t.Logf("prepare a transaction: %v", err)
	}
}

// wantPasswords makes the server ask the relay's role for one.
func (b *bench) wantPasswords() {
	b.t.Helper()
	b.exec("ALTER ROLE " + b.login() + " PASSWORD 'right'")
	file := b.setting("hba_file")
	rules, err := os.ReadFile(file)
	if err != nil {
		b.t.Fatal(err)
	}
	rules = append(fmt.Appendf(nil, "host all %s all scram-sha-256\n", b.login()), rules...)
	if err := os.WriteFile(file, rules, 0o600); err != nil {
		b.t.Fatal(err)
	}
	b.exec("SELECT pg_reload_conf()")
	deadline := time.Now().Add(patience)
	for b.loginWorks() {
		if time.Now().After(deadline) {
			b.t.Fatal("the server wants no password")
		}
	}
}

func (b *bench) loginWorks() bool {
	u, err := url.Parse(b.db.URL)
	if err != nil {
		b.t.Fatal(err)
	}
	u.User = url.UserPassword(b.login(), "wrong")
	conn, err := pgx.Connect(b.t.Context(), u.String())
	if err == nil {
		_ = conn.Close(b.t.Context()) // it was only to see whether it opens
	}
	return err == nil
}

func (b *bench) setting(name string) (value string) {
	b.t.Helper()
	if err := b.db.Pool.QueryRow(b.t.Context(), "SELECT current_setting($1)", name).Scan(&value); err != nil {
		b.t.Fatal(err)
	}
	return value
}

// becomeStandby stops the cluster and runs its data as a standby until the test ends.
func (b *bench) becomeStandby(cluster *harness.Postgres) {
	b.t.Helper()
	data := b.setting("data_directory")
	b.db.Pool.Reset()
	if err := cluster.Stop(b.t.Context(), "fast"); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "standby.signal"), nil, 0o644); err != nil {
		b.t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(b.t.TempDir(), "standby.log"))
	if err != nil {
		b.t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(cluster.BinDir(), "postgres"), "-D", data)
	cmd.Dir = data
	cmd.Stdout, cmd.Stderr = log, log
	if os.Geteuid() == 0 { // it refuses to run as root: the data belongs to whom it runs as
		info, err := os.Stat(data)
		if err != nil {
			b.t.Fatal(err)
		}
		owner := info.Sys().(*syscall.Stat_t)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}}
	}
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGQUIT) // immediate: nothing of it is needed again
		_ = cmd.Wait()
		if b.t.Failed() {
			text, _ := os.ReadFile(log.Name())
			b.t.Logf("log of the standby:\n%s", text)
		}
	})
	deadline, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	for {
		conn, err := pgx.Connect(deadline, b.db.URL)
		if err == nil {
			_ = conn.Close(deadline) // it answers
			return
		}
		if deadline.Err() != nil {
			b.t.Fatalf("the standby does not answer: %v", err)
		}
	}
}
