package upgrade_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/e2e/demo/check"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// TestUpgrade takes a database through each upgrade; package upgrade says how.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	for _, u := range upgrades {
		t.Run(u.name, func(t *testing.T) {
			old, next := u.from.build(t), u.to.build(t)
			if diff := cmp.Diff(u.old, old.versions()); diff != "" {
				t.Fatalf("versions of the old release (-registered +built):\n%s", diff)
			}
			added := next.without(old)
			if len(added) == 0 {
				t.Fatal("the new release adds no version")
			}
			u.run(t, old, next, added)
		})
	}
}

func (u upgrade) run(t *testing.T, old, next programs, added []file) {
	db, nats := outboxtest.NewEmptyDatabase(t), outboxtest.NewNATS(t)
	install(t, db, old.plan)
	seed(t, db, "before.sql")
	apply := exec.CommandContext(t.Context(), old.relay, "stream", "apply", "--yes")
	apply.Env = environment(db, nats.URL(), "nobody")
	if output, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("relay stream apply: %v\n%s", err, output)
	}
	reader, err := check.Read(t.Context(), nats.URL(), stream)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reader.Stop() })

	older := startRelay(t, old, db, nats.URL(), "old")
	services := startLoad(t, db)
	services.more(100)
	refuses(t, next, db, nats.URL(), "of the new release runs on the old database")
	was := newDigests(t, db)
	for _, f := range added {
		migrate(t, db, f)
		services.more(20)
	}
	if diff := cmp.Diff(was.values, was.read(t, db)); diff != "" {
		t.Errorf("data from before the upgrade (-before +after):\n%s", diff)
	}
	older.mustRun()
	newer := startRelay(t, next, db, nats.URL(), "new")
	services.more(100)
	older.stop()
	refuses(t, old, db, nats.URL(), "of the old release runs on the new database")
	seed(t, db, "after.sql")
	services.more(100)
	services.end()
	services.delivered(reader)
	newer.stop()

	url := filepath.Join(t.TempDir(), "database.url")
	if err := os.WriteFile(url, []byte(db.URL+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	command(t, ".", next.outboxGen, "verify", "--database-url-file", url, "--expect", "scratch")
}
