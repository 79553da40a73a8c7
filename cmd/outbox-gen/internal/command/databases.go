package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
)

// databaseFlags are how a command is told its databases.
type databaseFlags struct {
	urls, files *[]string
	timeout     *time.Duration
	getenv      func(string) string
}

// target is a database that a command looks at.
type target struct {
	name   string // what people see: no password is in it
	config *pgx.ConnConfig
}

func addDatabaseFlags(c *cobra.Command, p Process) databaseFlags {
	f := databaseFlags{
		urls:    c.Flags().StringArray("database-url", nil, "Database, without a password; may be given several times"),
		files:   c.Flags().StringArray("database-url-file", nil, "File with the URL of a database on each line; may be given several times"),
		timeout: c.Flags().Duration("timeout", 30*time.Second, "How long each database may take"),
		getenv:  p.Getenv,
	}
	inGroup(c, connectionFlags, "database-url", "database-url-file", "timeout")
	return f
}

// targets returns the databases in the order in which they were named. Without a flag it is the
// one that the PG* variables name.
func (f databaseFlags) targets() ([]target, error) {
	var all []target
	for _, url := range *f.urls {
		t, err := parseTarget(url)
		if err != nil {
			return nil, exit.Errorf(exit.Usage, "--database-url: %w", err).WithHint("a URL is such as postgres://user@host:5432/orders")
		}
		if hasPassword(url) {
			return nil, exit.Errorf(exit.Usage, "--database-url has a password, which every user of this machine can read").
				WithHint("use --database-url-file, PGPASSWORD, or a password file (PGPASSFILE)")
		}
		all = append(all, t)
	}
	for _, path := range *f.files {
		read, err := readTargets(path)
		if err != nil {
			return nil, err
		}
		all = append(all, read...)
	}
	if len(all) > 0 {
		return all, nil
	}
	if f.getenv("PGHOST") == "" && f.getenv("PGDATABASE") == "" && f.getenv("PGSERVICE") == "" {
		return nil, exit.Errorf(exit.Usage, "no database is named").WithHint("use --database-url, --database-url-file, or the variables PGHOST, PGDATABASE and so on")
	}
	t, err := parseTarget("")
	if err != nil {
		return nil, exit.Errorf(exit.Usage, "the PG* variables: %w", err)
	}
	return []target{t}, nil
}

// readTargets reads a file of URLs. Empty lines and those that begin with # are left out.
func readTargets(path string) ([]target, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, exit.Errorf(exit.Usage, "--database-url-file %s does not exist", path)
	}
	if err != nil {
		return nil, exit.Errorf(exit.Usage, "read --database-url-file: %w", err)
	}
	var all []target
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		t, err := parseTarget(line)
		if err != nil {
			return nil, exit.Errorf(exit.Usage, "%s:%d: %w", path, n, err)
		}
		all = append(all, t)
	}
	if len(all) == 0 {
		return nil, exit.Errorf(exit.Usage, "--database-url-file %s names no database", path)
	}
	return all, nil
}

// parseTarget parses a URL or a list of keywords. Its error does not repeat the text, which
// may have a password in it.
func parseTarget(text string) (target, error) {
	config, err := pgx.ParseConfig(text)
	if err != nil {
		return target{}, errors.New("is not the URL of a database")
	}
	config.RuntimeParams["application_name"] = "outbox-gen"
	// No prepared statements: the database may be behind a pooler.
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	database := config.Database
	if database == "" {
		database = config.User
	}
	return target{name: net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))) + "/" + database, config: config}, nil
}

// hasPassword reports whether a URL itself, and not a variable or a file, has a password.
func hasPassword(text string) bool {
	if _, rest, isURL := strings.Cut(text, "://"); isURL {
		authority, _, _ := strings.Cut(rest, "/")
		login, _, has := strings.Cut(authority, "@")
		return has && strings.Contains(login, ":") || strings.Contains(rest, "password=")
	}
	return strings.Contains(text, "password")
}

// connected runs a function with a connection.
func (t target) connected(ctx context.Context, do func(context.Context, *pgx.Conn) error) error {
	conn, err := pgx.ConnectConfig(ctx, t.config)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", t.name, plain(err))
	}
	err = do(ctx, conn)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return errors.Join(err, conn.Close(closing))
}

// plain takes the connection string out of an error of pgx.
func plain(err error) error {
	var server *pgconn.PgError
	if errors.As(err, &server) {
		return server
	}
	var network net.Error
	if errors.As(err, &network) {
		return network
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("no answer in time")
	}
	return err
}
