package outbox_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// TestConformanceSQL runs the cases through the SQL functions, called with parameters by
// pgx and with literals by psql.
func TestConformanceSQL(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	psql := filepath.Join(outboxtest.Cluster(t).BinDir(), "psql")
	for _, c := range loadConformance(t) {
		t.Run("pgx/"+c.Name, func(t *testing.T) { c.callPgx(t, db.Pool) })
		for _, form := range c.Call.forms() {
			t.Run("psql/"+form.Function+"/"+c.Name, func(t *testing.T) { c.callPsql(t, psql, db.URL, form) })
		}
	}
}

// callPgx calls the function with parameters.
func (c conformanceCase) callPgx(t *testing.T, pool *pgxpool.Pool) {
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer rollback(t, tx.Rollback)
	operation := uuid.NewString()
	if _, err := tx.Exec(t.Context(), c.setup(operation)); err != nil {
		t.Fatalf("set up: %v", err)
	}
	var parameters []string
	var args []any
	for _, name := range c.Call.names() {
		args = append(args, c.Call.parameter(name, operation))
		parameters = append(parameters, fmt.Sprintf("%q => $%d", name, len(args)))
	}
	statement := fmt.Sprintf("SELECT outbox.%s(%s)", c.Call.Function, strings.Join(parameters, ", "))
	if _, err := tx.Exec(t.Context(), statement, args...); err != nil {
		c.checkError(t, refusalOf(err), err)
		return
	}
	var row string
	if err := tx.QueryRow(t.Context(), readRow).Scan(&row); err != nil {
		t.Fatal(err)
	}
	c.checkRow(t, row, operation)
}

var (
	psqlError  = regexp.MustCompile(`ERROR:  ([0-9A-Z]{5}): `)
	psqlDetail = regexp.MustCompile(`(?m)^DETAIL:  (.*)$`)
)

// callPsql runs the case in a process of psql, which sends the text as it is.
func (c conformanceCase) callPsql(t *testing.T, psql, url string, form call) {
	t.Parallel()
	operation := uuid.NewString()
	cmd := exec.CommandContext(t.Context(), psql, "--no-psqlrc", "--quiet", "--no-align", "--tuples-only",
		"--set=ON_ERROR_STOP=1", "--set=VERBOSITY=verbose", "--dbname="+url)
	cmd.Env = append(cmd.Environ(), "PGCLIENTENCODING=UTF8", "LC_ALL=C")
	cmd.Stdin = strings.NewReader("BEGIN;\n" + c.setup(operation) + `\o /dev/null` + "\n" + form.literal(operation) + ";\n" + `\o` + "\n" + readRow + ";\nROLLBACK;\n")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err == nil {
		rows := strings.Split(strings.TrimSpace(stdout.String()), "\n")
		c.checkRow(t, rows[len(rows)-1], operation)
		return
	}
	state := psqlError.FindStringSubmatch(stderr.String())
	if state == nil {
		t.Fatalf("run psql: %v\n%s", err, stderr.String())
	}
	got := refusal{SQLState: state[1]}
	if detail := psqlDetail.FindStringSubmatch(stderr.String()); detail != nil {
		got.Detail = detail[1]
	}
	c.checkError(t, got, stderr.String())
}

// forms are the calls that must give the same: with the payload as bytes, as base64 and,
// where it is one, as text.
func (c call) forms() []call {
	if c.Function != "publish" && c.Function != "publish_held" {
		return []call{c}
	}
	with := func(suffix string, data any) call {
		form := call{Function: c.Function + suffix, Arguments: map[string]any{}}
		for name, v := range c.Arguments {
			form.Arguments[name] = v
		}
		form.Arguments["data"] = data
		return form
	}
	data := payload(c.Arguments["data"])
	if data == nil {
		return []call{c, with("_text", nil), with("_base64", nil)}
	}
	forms := []call{c, with("_base64", base64.StdEncoding.EncodeToString(data))}
	if utf8.Valid(data) && !bytes.Contains(data, []byte{0}) {
		forms = append(forms, with("_text", string(data)))
	}
	return forms
}

// parameter is an argument as a value for pgx.
func (c call) parameter(name, operation string) any {
	switch v := c.Arguments[name].(type) {
	case map[string]any:
		return payload(v)
	case float64:
		return int32(v)
	case string:
		return strings.ReplaceAll(v, "$operation", operation)
	}
	return nil
}

// literal is the call as SQL text.
func (c call) literal(operation string) string {
	var args []string
	for _, name := range c.names() {
		var text string
		switch v := c.parameter(name, operation).(type) {
		case nil:
			text = "NULL"
		case int32:
			text = strconv.Itoa(int(v))
		case []byte:
			text = fmt.Sprintf(`'\x%x'::bytea`, v)
		case string:
			text = "'" + strings.ReplaceAll(v, "'", "''") + "'"
		}
		args = append(args, fmt.Sprintf("%q => %s", name, text))
	}
	return fmt.Sprintf("SELECT outbox.%s(%s)", c.Function, strings.Join(args, ", "))
}
