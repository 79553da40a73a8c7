package settings_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/cmd/relay/internal/settings"
)

func TestShownDatabaseHasNoPassword(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"postgres://u:hunter2@h:5432/db?sslmode=disable":            "postgres://u:xxxxx@h:5432/db?sslmode=disable",
		"postgresql://u:hunter2@h1:1,h2:2/db":                       "postgresql://u:xxxxx@h1:1,h2:2/db",
		"postgres://u:hun@ter2@h/db":                                "postgres://u:xxxxx@h/db",
		"postgres://u:hunter2%2F%40@h/db":                           "postgres://u:xxxxx@h/db",
		"postgres://u@h/db?password=hunter2&application_name=a%40b": "postgres://u@h/db?application_name=a%40b&password=xxxxx",
		"postgres://u@h/db":                                         "postgres://u@h/db",
		"host=h port=1 user=u password='hunter2 x' dbname=db":       "host=h port=1 user=u dbname=db password=xxxxx",
	} {
		loaded := load(t, sources(nil, "RELAY_DATABASE_URL="+text), settings.NeedDatabase)
		if got := valueOf(t, loaded, "RELAY_DATABASE_URL").Shown(); got != want {
			t.Errorf("%s is shown as %s, want %s", text, got, want)
		}
	}
}

// Whatever is wrong with a connection string, no part of the password may come out.
func TestMalformedConnectionStringsAreNeverShown(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"postgres://u:hunter2/x@h/db",
		"postgres://u:12/hunter2@h/db",
		"postgres://u:12?hunter2@h/db",
		"postgres://u:12#hunter2@h/db",
		"postgres://u:%zzhunter2@h/db",
		"postgres://u:a@hunter2/@h/db",
		"postgres://u:hunter2@h:port/db",
		"postgres:/u:hunter2@h/db",
		"mysql://u:hunter2@h/db",
		"u:hunter2@h/db",
		"password=hunter2 =",
		"host=h password='hunter2",
		"host=h password=hunter2 sslmode=bogus",
		"postgres://u:hunter2@h/db?sslmode=bogus",
		"postgres://u@h/db?sslmode=bogus&password=hunter2",
		"postgres://u@h/db?pool_max_conns=x&pass%77ord=hunter2",
		"postgres://u:hunter2@h/db?default_query_exec_mode=simple_protocol",
	} {
		loaded, err := settings.Load(sources(nil, "RELAY_DATABASE_URL="+text), settings.NeedDatabase)
		if err == nil {
			t.Errorf("%s was accepted", text)
			continue
		}
		shown := fmt.Sprint(err, valueOf(t, loaded, "RELAY_DATABASE_URL").Shown())
		if strings.Contains(shown, "hunter2") {
			t.Errorf("%s gives %s", text, shown)
		}
	}
}

func TestDatabaseProblemsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"postgres://u:pw@h/db?sslmode=bogus":                           "sslmode",
		"postgres://u:pw@h/db?pool_max_conns=x":                        "pool_max_conns",
		"postgres://u:pw@h/db?default_query_exec_mode=simple_protocol": "builds SQL from text on the client",
		"postgres://u:pw@h/db?application_name=a%00user%00b":           "forbidden value %00",
		"postgres://u:p/w@h/db":                                        "not shown because it may hold a password",
	} {
		got := problems(t, sources(nil, "RELAY_DATABASE_URL="+text), settings.NeedDatabase)
		if len(got) != 1 || !strings.Contains(got[0].Message, want) || !strings.HasPrefix(got[0].Message, "RELAY_DATABASE_URL: ") {
			t.Errorf("%s: problems %q, want %q in it", text, got, want)
		}
	}
}

func TestNATSAddresses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"localhost":                            "nats://localhost",
		"nats://a:4222, tls://b:4222":          "nats://a:4222,tls://b:4222",
		"nats://user:hunter2@h:4222":           "nats://user:xxxxx@h:4222",
		"nats://hunter2@h:4222":                "nats://xxxxx@h:4222",
		"nats://user:hunter2@h,wss://x@h/nats": "nats://user:xxxxx@h,wss://xxxxx@h/nats",
	} {
		loaded := load(t, sources(nil, "RELAY_NATS_URL="+text), settings.NeedNATS)
		if got := valueOf(t, loaded, "RELAY_NATS_URL").Shown(); got != want {
			t.Errorf("%s is shown as %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{"nats://u:hunter2/x@h", "nats://u:1/hunter2@h", "http://hunter2", "nats://u:hun,ter2@h", "nats://", "nats://h:port"} {
		loaded, err := settings.Load(sources(nil, "RELAY_NATS_URL="+text), settings.NeedNATS)
		if err == nil {
			t.Errorf("%s was accepted", text)
			continue
		}
		if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "ter2") {
			t.Errorf("%s gives %v", text, err)
		}
		if shown := valueOf(t, loaded, "RELAY_NATS_URL").Shown(); strings.Contains(shown, "ter2") {
			t.Errorf("%s is shown as %s", text, shown)
		}
	}
}

func TestNATSLogins(t *testing.T) {
	t.Parallel()
	files := map[string]string{"creds": "x", "garbage": "x"}
	for environ, want := range map[string]string{
		"RELAY_NATS_TOKEN=t RELAY_NATS_USER=u RELAY_NATS_PASSWORD=p": "RELAY_NATS_USER and RELAY_NATS_TOKEN are both ways to log in to NATS",
		"RELAY_NATS_PASSWORD=p":            "RELAY_NATS_PASSWORD is set without RELAY_NATS_USER",
		"RELAY_NATS_TLS_CERT_FILE=garbage": "RELAY_NATS_TLS_CERT_FILE is set without RELAY_NATS_TLS_KEY_FILE",
		"RELAY_NATS_TLS_CA_FILE=garbage":   "RELAY_NATS_TLS_CA_FILE: garbage has no certificate",
		"RELAY_NATS_CREDS_FILE=absent":     "RELAY_NATS_CREDS_FILE: cannot read the file: open absent: file does not exist",
	} {
		got := problems(t, sources(files, strings.Fields(environ)...), settings.NeedNATS)
		if len(got) != 1 || got[0].Message != want {
			t.Errorf("%s: problems %q", environ, got)
		}
	}
	src := sources(nil)
	src.Flags = map[string]string{"RELAY_NATS_URL": "nats://u:hunter2@h"}
	got := problems(t, src, settings.NeedNATS)
	if len(got) != 1 || !strings.HasPrefix(got[0].Message, "--nats-url has a password") {
		t.Errorf("problems %q", got)
	}
	load(t, sources(files, "RELAY_NATS_CREDS_FILE=creds"), settings.NeedNATS)
}
