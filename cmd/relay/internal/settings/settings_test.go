package settings_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/cmd/relay/internal/settings"
	"github.com/holdfast-dev/holdfast/outbox/wire"
	"github.com/holdfast-dev/holdfast/relay/retry"
)

const database = "RELAY_DATABASE_URL=postgres://relay@db.example/orders"

// sources are an environment, with files that exist in the test only.
func sources(files map[string]string, environ ...string) settings.Sources {
	return settings.Sources{
		Environ: environ,
		ReadFile: func(path string) ([]byte, error) {
			text, exists := files[path]
			if !exists {
				return nil, fmt.Errorf("open %s: %w", path, os.ErrNotExist)
			}
			return []byte(text), nil
		},
	}
}

func load(t *testing.T, src settings.Sources, needs ...settings.Need) *settings.Loaded {
	t.Helper()
	loaded, err := settings.Load(src, needs...)
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	return loaded
}

// problems loads what must not load, and returns the messages.
func problems(t *testing.T, src settings.Sources, needs ...settings.Need) []settings.Problem {
	t.Helper()
	_, err := settings.Load(src, needs...)
	var refused *settings.Error
	if !errors.As(err, &refused) {
		t.Fatalf("load returned %v, want a settings.Error", err)
	}
	return refused.Problems
}

func valueOf(t *testing.T, loaded *settings.Loaded, name string) settings.Value {
	t.Helper()
	for _, v := range loaded.Values {
		if v.Name == name {
			return v
		}
	}
	t.Fatalf("there is no value %s", name)
	return settings.Value{}
}

func TestDefaultsAreEnoughButForDatabaseAndStream(t *testing.T) {
	t.Parallel()
	loaded := load(t, sources(nil, database, "RELAY_STREAM=ORDERS"), settings.NeedRelay)
	if loaded.Lease != 10*time.Second || loaded.BatchBytes != 32<<20 || loaded.Mode != wire.Binary {
		t.Errorf("defaults are %+v", loaded.Settings)
	}
	if loaded.SubjectTemplate != "{prefix}.{type}" || loaded.HTTPAddr != "127.0.0.1:9090" {
		t.Errorf("defaults are %+v", loaded.Settings)
	}
	if v := valueOf(t, loaded, "RELAY_LEASE"); v.Origin.String() != "default" || v.Text != "10s" {
		t.Errorf("RELAY_LEASE is %+v", v)
	}
}

func TestFlagBeatsEnvironmentBeatsFallbackBeatsDefault(t *testing.T) {
	t.Parallel()
	src := sources(nil, "RELAY_NATS_URL=nats://env:4222", "NATS_URL=nats://fallback:4222")
	src.Flags = map[string]string{"RELAY_NATS_URL": "nats://flag:4222"}
	steps := []struct {
		change func()
		server string
		origin string
	}{
		{func() {}, "nats://flag:4222", "flag --nats-url"},
		{func() { src.Flags = nil }, "nats://env:4222", "env RELAY_NATS_URL"},
		{func() { src.Environ = src.Environ[1:] }, "nats://fallback:4222", "env NATS_URL"},
		{func() { src.Environ = []string{"NATS_URL="} }, "nats://127.0.0.1:4222", "default"},
	}
	for _, step := range steps {
		step.change()
		loaded := load(t, src, settings.NeedNATS)
		if v := valueOf(t, loaded, "RELAY_NATS_URL"); v.Origin.String() != step.origin || loaded.Servers() != step.server {
			t.Errorf("got %s from %q, want %s from %q", loaded.Servers(), v.Origin, step.server, step.origin)
		}
	}
}

func TestValuesAreVerbatim(t *testing.T) {
	t.Parallel()
	const password = `p$HOME$$x${PATH}`
	loaded := load(t, sources(map[string]string{"secret": password + "\n"},
		"HOME=expanded", "PATH=expanded", "RELAY_NATS_USER=u", "RELAY_NATS_PASSWORD="+password), settings.NeedNATS)
	if loaded.NATSPassword != password {
		t.Errorf("the password became %q", loaded.NATSPassword)
	}
	loaded = load(t, sources(map[string]string{"secret": password + "\n"}, "HOME=expanded", "RELAY_NATS_TOKEN_FILE=secret"), settings.NeedNATS)
	if loaded.NATSToken != password {
		t.Errorf("the token became %q", loaded.NATSToken)
	}
	loaded = load(t, sources(nil, "HOME=expanded", "RELAY_DATABASE_URL=postgres://u:"+`p$HOME$$x`+"@h/db"), settings.NeedDatabase)
	pool, err := loaded.Pool(1)
	if err != nil || pool.ConnConfig.Password != `p$HOME$$x` {
		t.Errorf("the database password is %q, error %v", pool.ConnConfig.Password, err)
	}
}

func TestSecretsComeFromFiles(t *testing.T) {
	t.Parallel()
	files := map[string]string{"url": "postgres://u:pw@h/db\r\n", "empty": "\n", "nul": "a\x00b"}
	loaded := load(t, sources(files, "RELAY_DATABASE_URL_FILE=url"), settings.NeedDatabase)
	if loaded.DatabaseURL != "postgres://u:pw@h/db" {
		t.Errorf("the url is %q", loaded.DatabaseURL)
	}
	if v := valueOf(t, loaded, "RELAY_DATABASE_URL"); v.Origin.String() != "file url" {
		t.Errorf("the origin is %q", v.Origin)
	}
	src := sources(files, "RELAY_DATABASE_URL=postgres://ignored/db")
	src.Flags = map[string]string{"RELAY_DATABASE_URL_FILE": "url"}
	if loaded := load(t, src, settings.NeedDatabase); loaded.DatabaseURL != "postgres://u:pw@h/db" {
		t.Errorf("a flag did not beat a variable: %q", loaded.DatabaseURL)
	}
	for environ, want := range map[string]string{
		"RELAY_NATS_TOKEN_FILE=absent": "RELAY_NATS_TOKEN_FILE: cannot read the file: open absent: file does not exist",
		"RELAY_NATS_TOKEN_FILE=empty":  "RELAY_NATS_TOKEN_FILE: the file empty is empty",
		"RELAY_NATS_URL= ":             "RELAY_NATS_URL is blank",
		"RELAY_NATS_TOKEN_FILE=nul":    "RELAY_NATS_TOKEN (from file nul) has a NUL byte",
	} {
		got := problems(t, sources(files, environ))
		if len(got) != 1 || got[0].Message != want || got[0].Hint == "" {
			t.Errorf("%s: problems %q", environ, got)
		}
	}
	got := problems(t, sources(files, "RELAY_DATABASE_URL=postgres://h/db", "RELAY_DATABASE_URL_FILE=url"), settings.NeedDatabase)
	if len(got) != 1 || got[0].Message != "RELAY_DATABASE_URL and RELAY_DATABASE_URL_FILE are both set" {
		t.Errorf("problems %q", got)
	}
}

func TestEveryProblemIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	src := sources(nil, "RELAY_BATCH_SISE=5", "RELAY_COLOUR=red", "RELAY_LEASE=ten", "RELAY_WORKERS=-1",
		"RELAY_BATCH_SIZE=20000", "RELAY_BATCH_BYTES=many", "RELAY_MODE=binry", "RELAY_LOG_LEVEL=loud",
		"RELAY_HTTP_ADDR=localhost", "RELAY_NATS_USER=u", "RELAY_POLL_MIN=0s", "RELAY_GROUP=a\x00b")
	src.Flags = map[string]string{"RELAY_OWNER": ""}
	var got []string
	for _, p := range problems(t, src, settings.NeedRelay) {
		got = append(got, p.Message+" ("+p.Hint+")")
	}
	want := []string{
		"unknown variable RELAY_BATCH_SISE (did you mean RELAY_BATCH_SIZE?)",
		"unknown variable RELAY_COLOUR (remove it; `relay config env` lists the settings)",
		"RELAY_GROUP has a NUL byte (remove it)",
		`RELAY_MODE: unknown value "binry" (did you mean binary? use binary, structured)`,
		"--owner is empty (leave the flag out to use the environment or the default)",
		`RELAY_LOG_LEVEL: unknown value "loud" (use debug, info, warn, error)`,
		`RELAY_BATCH_BYTES: "many" cannot be read as a size (write a number of bytes, or one with KiB, MiB or GiB such as 32MiB)`,
		`RELAY_LEASE: "ten" cannot be read as a duration (write a duration such as 500ms, 10s or 5m)`,
		`RELAY_WORKERS: "-1" is not positive (write a whole number such as 100)`,
		`RELAY_POLL_MIN: "0s" is not positive (write a duration such as 500ms, 10s or 5m)`,
		"no database is configured (set RELAY_DATABASE_URL=postgres://user:password@host:5432/database, RELAY_DATABASE_URL_FILE to a file that holds it, or PGHOST and the other standard variables)",
		"RELAY_NATS_USER is set without RELAY_NATS_PASSWORD (set both or neither)",
		"RELAY_STREAM is not set (name the JetStream stream that stores the events: RELAY_STREAM=ORDERS or --stream ORDERS)",
		`RELAY_HTTP_ADDR: "localhost" is not an address to listen on (write host:port, such as 127.0.0.1:9090 or :9090 for every interface)`,
		"RELAY_BATCH_SIZE 20000: must be 1 to 10000 (`relay config env` explains every setting)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestKubernetesServiceVariablesAreNoSettings(t *testing.T) {
	t.Parallel()
	load(t, sources(nil, "RELAY_SERVICE_HOST=10.0.0.1", "RELAY_SERVICE_PORT=9090", "RELAY_SERVICE_PORT_HTTP=9090",
		"RELAY_PORT=tcp://10.0.0.1:9090", "RELAY_PORT_9090_TCP=tcp://10.0.0.1:9090", "RELAY_PORT_9090_TCP_PROTO=tcp",
		"RELAY_PORT_9090_TCP_PORT=9090", "RELAY_PORT_9090_TCP_ADDR=10.0.0.1", "RELAY_METRICS_SERVICE_HOST=10.0.0.1",
		"RELAY_METRICS_PORT=tcp://10.0.0.1:80", "RELAY_METRICS_PORT_80_TCP_ADDR=10.0.0.1"))
	if got := problems(t, sources(nil, "RELAY_NATS_PORT=4222")); got[0].Message != "unknown variable RELAY_NATS_PORT" {
		t.Errorf("problems %q", got)
	}
}

func TestStandardVariablesNameADatabase(t *testing.T) {
	t.Parallel()
	loaded := load(t, sources(nil, "PGHOST=db.example", "PGDATABASE=orders"), settings.NeedDatabase)
	if v := valueOf(t, loaded, "RELAY_DATABASE_URL"); v.Origin.String() != "env PGHOST, PGDATABASE" {
		t.Errorf("the origin is %q", v.Origin)
	}
}

func TestSchemaIsAName(t *testing.T) {
	t.Parallel()
	got := problems(t, sources(nil, database, "RELAY_SCHEMA=outbox; drop"), settings.NeedDatabase)
	if len(got) != 1 || got[0].Message != `RELAY_SCHEMA: "outbox; drop" is not the name of a database schema` {
		t.Errorf("problems %q", got)
	}
}

func TestEnvFileMatchesGoldenFile(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("testdata/relay.env")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), settings.EnvFile()); diff != "" {
		t.Errorf("`relay config env` and testdata/relay.env differ; if it is meant to, write the new one with "+
			"`go run ./cmd/relay config env > cmd/relay/internal/settings/testdata/relay.env` (-want +got):\n%s", diff)
	}
}

func TestEnvFileIsAConfiguration(t *testing.T) {
	t.Parallel()
	var environ []string
	for line := range strings.Lines(settings.EnvFile()) {
		pair, found := strings.CutPrefix(strings.TrimSpace(line), "#RELAY_")
		name, text, _ := strings.Cut(pair, "=")
		if found && text != "" && name != "NATS_CREDS_FILE" && name != "WAKE_SUBJECT" && name != "LISTEN_CHANNEL" && name != "HOLD_ADDR" && name != "HOLD_CALLERS" {
			environ = append(environ, "RELAY_"+pair)
		}
	}
	loaded := load(t, sources(nil, environ...), settings.NeedRelay)
	defaults := load(t, sources(nil, "RELAY_STREAM=ORDERS", "RELAY_DATABASE_URL="+loaded.DatabaseURL), settings.NeedRelay)
	if diff := cmp.Diff(defaults.Settings, loaded.Settings); diff != "" {
		t.Errorf("the file and the defaults differ (-default +file):\n%s", diff)
	}
}

func TestEveryVariableIsDescribed(t *testing.T) {
	t.Parallel()
	for _, v := range settings.Variables() {
		known := false
		for _, s := range settings.Sections() {
			known = known || s == v.Section
		}
		if v.Doc == "" || !strings.HasSuffix(v.Doc, ".") || !known {
			t.Errorf("%s has doc %q and section %q", v.Name, v.Doc, v.Section)
		}
		if (v.Flag == "") != v.Secret {
			t.Errorf("%s has flag %q", v.Name, v.Flag)
		}
	}
}

func TestRefusedEventsAndAllowedChecks(t *testing.T) {
	t.Parallel()
	loaded := load(t, sources(nil, database, "RELAY_STREAM=ORDERS"), settings.NeedRelay)
	if diff := cmp.Diff(retry.DefaultPolicy(), loaded.Relay().Retry); diff != "" || loaded.Relay().DeadLetterBlocksKey {
		t.Errorf("the defaults are not those of the relay (-relay +settings):\n%s", diff)
	}
	loaded = load(t, sources(nil, database, "RELAY_STREAM=ORDERS", "RELAY_REFUSED_RETRIES=0", "RELAY_REFUSED_PAUSE_MIN=1s",
		"RELAY_REFUSED_PAUSE_MAX=1h", "RELAY_DEAD_LETTER_BLOCKS_KEY=true", "RELAY_ALLOW=dedup-window, replicas"), settings.NeedRelay)
	if p := loaded.Relay().Retry; p != (retry.Policy{Initial: time.Second, Max: time.Hour}) || !loaded.Relay().DeadLetterBlocksKey {
		t.Errorf("the policy is %+v", p)
	}
	if got := loaded.Allowed(); len(got) != 2 || got[0] != "dedup-window" || got[1] != "replicas" {
		t.Errorf("allowed %q", got)
	}
	for variable, want := range map[string]string{
		"RELAY_REFUSED_RETRIES=-1":           `RELAY_REFUSED_RETRIES: "-1" is negative`,
		"RELAY_REFUSED_RETRIES=2000000":      "RELAY_REFUSED_RETRIES 2000000: must be 0 to 1000000",
		"RELAY_REFUSED_PAUSE_MIN=1ns":        "RELAY_REFUSED_PAUSE_MIN 1ns: must be whole milliseconds, 1ms at least",
		"RELAY_REFUSED_PAUSE_MAX=1ms":        "RELAY_REFUSED_PAUSE_MAX 1ms: must be whole milliseconds, 250ms to 168h",
		"RELAY_DEAD_LETTER_BLOCKS_KEY=maybe": `RELAY_DEAD_LETTER_BLOCKS_KEY: unknown value "maybe"`,
		"RELAY_ALLOW=dedup":                  `RELAY_ALLOW: there is no check "dedup"`,
	} {
		_, err := settings.Load(sources(nil, database, "RELAY_STREAM=ORDERS", variable), settings.NeedRelay)
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", variable, err, want)
		}
	}
}
