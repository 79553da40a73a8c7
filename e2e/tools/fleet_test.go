package tools_test

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

var update = flag.Bool("update", false, "write the generated files of e2e/fleet anew")

// member is a service of the example fleet.
type member struct {
	name, dir string
	up        func(ctx context.Context, url, dir string) error
	// business writes a row and stages its event, in one transaction; $1 is a number.
	business []string
}

var members = []member{
	{name: "orders", dir: "services/orders/migrations", up: gooseUp, business: []string{
		"INSERT INTO orders (id, total, paid) VALUES ('A-' || $1::int, 5, true)",
		"SELECT outbox.publish_text('/orders', 'order.placed', json_build_object('n', $1::int)::text, partitionkey => 'A-' || $1::int % 3)",
	}},
	{name: "billing", dir: "services/billing/db/migrate", up: migrateUp, business: []string{
		"INSERT INTO invoices (amount, order_id) VALUES (5, 'A-' || $1::int)",
		"SELECT outbox.publish_text('/billing', 'invoice.made', json_build_object('n', $1::int)::text, partitionkey => 'A-' || $1::int % 3)",
	}},
	{name: "frontdoor", dir: "services/frontdoor/migrations", up: atlasUp, business: []string{
		"INSERT INTO visitors SELECT gen_random_uuid() WHERE $1::int > 0",
		"SELECT outbox.publish_text('/frontdoor', 'visitor.seen', json_build_object('n', $1::int)::text, partitionkey => 'A-' || $1::int % 3)",
	}},
}

const (
	fleetRoot   = "../fleet"
	fleetEvents = 30 // of each service
)

// TestFleet takes the example fleet from the repository to the streams: write and check leave
// it as it is, the real tools migrate its databases, verify finds nothing, and relays drain.
func TestFleet(t *testing.T) {
	t.Parallel()
	bin := build(t)
	if *update {
		renew(t, bin)
	}
	isClean(t, bin)
	nats := outboxtest.NewNATS(t)
	js := outboxtest.NewStream(t, nats.URL(), "PROBE", "probe.>")
	for _, m := range members {
		t.Run(m.name, func(t *testing.T) {
			db := outboxtest.NewEmptyDatabase(t)
			dir := filepath.Join(fleetRoot, filepath.FromSlash(m.dir))
			for range 2 { // the second time there is nothing to do
				if err := m.up(t.Context(), db.URL, dir); err != nil {
					t.Fatalf("migrate: %v", err)
				}
			}
			url := filepath.Join(t.TempDir(), "database.url")
			if err := os.WriteFile(url, []byte(db.URL+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			run(t, fleetRoot, nil, bin.outboxGen, "verify", "--service", m.name, "--database-url-file", url)
			r := relays{t: t, bin: bin, db: db, nats: nats.URL(), stream: strings.ToUpper(m.name)}
			run(t, "", r.env("applies"), bin.relay, "stream", "apply", "--yes")
			r.start("first")
			r.start("second")
			for n := range fleetEvents {
				stage(t, db, m.business, n+1)
			}
			stream, err := js.Stream(t.Context(), r.stream)
			if err != nil {
				t.Fatal(err)
			}
			r.awaitDrained(func(ctx context.Context) ([][]byte, error) {
				info, err := stream.Info(ctx)
				if err != nil {
					return nil, err
				}
				var bodies [][]byte
				for seq := info.State.FirstSeq; seq > 0 && seq <= info.State.LastSeq; seq++ {
					msg, err := stream.GetMsg(ctx, seq)
					if err != nil {
						return nil, err
					}
					bodies = append(bodies, msg.Data)
				}
				return bodies, nil
			}, fleetEvents)
		})
	}
}

// stage runs the statements of one business transaction.
func stage(t *testing.T, db *outboxtest.Database, statements []string, n int) {
	t.Helper()
	err := pgx.BeginFunc(t.Context(), db.Pool, func(tx pgx.Tx) error {
		for _, sql := range statements {
			if _, err := tx.Exec(t.Context(), sql, n); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("stage event %d: %v", n, err)
	}
}

// isClean runs write, go and check on a copy of the fleet, which must stay as it is.
func isClean(t *testing.T, bin binaries) {
	t.Helper()
	scratch := t.TempDir()
	if err := os.CopyFS(scratch, os.DirFS(fleetRoot)); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"write", "go", "check"} {
		run(t, scratch, nil, bin.outboxGen, command)
	}
	run(t, fleetRoot, nil, bin.outboxGen, "check")
	if diff := cmp.Diff(content(t, fleetRoot), content(t, scratch)); diff != "" {
		t.Fatalf("outbox-gen write changes the fleet; see e2e/fleet/README.md (-tree +written):\n%s", diff)
	}
}

// renew removes what was generated, and generates it under the names that it had.
func renew(t *testing.T, bin binaries) {
	t.Helper()
	before := content(t, fleetRoot)
	for name := range before {
		if base := filepath.Base(name); base == "atlas.sum" || filepath.Base(filepath.Dir(name)) == "outboxschema" {
			if err := os.Remove(filepath.Join(fleetRoot, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name := range before {
		if !strings.Contains(name, "holdfast_") {
			continue
		}
		component, _, _ := strings.Cut(strings.SplitN(name, "holdfast_", 2)[1], "_v")
		i := slices.IndexFunc(members, func(m member) bool { return strings.HasPrefix(filepath.ToSlash(name), m.dir+"/") })
		args := []string{"show", component, "1", "--service", members[i].name}
		if strings.HasSuffix(name, ".down.sql") {
			args = append(args, "--down")
		}
		show := exec.CommandContext(t.Context(), bin.outboxGen, args...)
		show.Dir = fleetRoot
		text, err := show.Output()
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		if err := os.WriteFile(filepath.Join(fleetRoot, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run(t, fleetRoot, nil, bin.outboxGen, "write")
	run(t, fleetRoot, nil, bin.outboxGen, "go")
}

// content reads all files below a folder.
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		files[name] = string(text)
		return err
	})
	if err != nil || len(files) < 15 {
		t.Fatalf("read %s: %d files, %v", dir, len(files), err)
	}
	return files
}

// binaries are what users run.
type binaries struct{ outboxGen, relay string }

// build builds them from the module above.
func build(t *testing.T) binaries {
	t.Helper()
	dir := t.TempDir()
	run(t, filepath.Join("..", ".."), nil, "go", "build", "-o", dir+string(filepath.Separator), "./cmd/outbox-gen", "./cmd/relay")
	return binaries{outboxGen: filepath.Join(dir, "outbox-gen"), relay: filepath.Join(dir, "relay")}
}

// run runs a command that must succeed.
func run(t *testing.T, dir string, env []string, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, env
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", fmt.Sprint(append([]string{filepath.Base(name)}, args...)), err, output)
	}
}
