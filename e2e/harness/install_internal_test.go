package harness

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const clusterConf = "#create_main_cluster = true\n"

// debian is a machine whose apt-get is a fake: it records how it was called
// and what createcluster.conf said at that time.
type debian struct {
	*machine
	calls []string
	fail  string // the call that fails
}

func newDebian(t *testing.T) *debian {
	d := &debian{machine: newMachine(t)}
	d.write("/etc/debian_version", "12\n", 0o644)
	d.write("/var/lib/dpkg/status", "", 0o644)
	return d
}

func (d *debian) conf() string {
	return filepath.Join(d.root, "/etc/postgresql-common/createcluster.conf")
}

func (d *debian) installer() installer {
	return installer{root: d.root, search: d.search(), run: d.run}
}

func (d *debian) run(_ context.Context, log io.Writer, name string, args ...string) error {
	call := name + " " + strings.Join(args, " ")
	conf, _ := os.ReadFile(d.conf())
	d.calls = append(d.calls, call+" | "+strings.ReplaceAll(string(conf), "\n", "/"))
	switch {
	case d.fail != "" && strings.Contains(call, d.fail):
		return errors.New("exit status 100")
	case strings.HasSuffix(call, "postgresql-common"):
		d.write("/etc/postgresql-common/createcluster.conf", clusterConf, 0o644)
	case strings.HasSuffix(call, "postgresql"):
		d.install("/usr/lib/postgresql/15/bin", "initdb", "postgres")
	}
	return nil
}

func (d *debian) wantConfRestored() {
	d.t.Helper()
	conf, err := os.ReadFile(d.conf())
	if err != nil || string(conf) != clusterConf {
		d.t.Errorf("createcluster.conf is %q afterwards, %v", conf, err)
	}
}

func TestInstallWithoutMainCluster(t *testing.T) {
	t.Parallel()
	d := newDebian(t)
	var log bytes.Buffer
	dir, err := d.installer().install(t.Context(), &log)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(d.root, "/usr/lib/postgresql/15/bin"); dir != want {
		t.Errorf("installed into %s, want %s", dir, want)
	}
	const apt = "apt-get -q -y -o DPkg::Lock::Timeout=300 --no-install-recommends "
	want := []string{
		apt + "update | ",
		apt + "install postgresql-common | ",
		apt + "install postgresql | #create_main_cluster = true//create_main_cluster = false/",
	}
	if diff := cmp.Diff(want, d.calls); diff != "" {
		t.Errorf("calls, and createcluster.conf at the time (-want +got):\n%s", diff)
	}
	d.wantConfRestored()
	for _, part := range []string{"found no postgres", "apt-get update", "create_main_cluster = false", dir} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("the log does not say %q:\n%s", part, log.String())
		}
	}
}

func TestInstallFailureHasHint(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"update", "install postgresql-common", "install postgresql"} {
		d := newDebian(t)
		d.fail = step
		_, err := d.installer().install(t.Context(), io.Discard)
		var hinted *Error
		if !errors.As(err, &hinted) || !strings.Contains(hinted.Hint, EnvBinDir) {
			t.Errorf("%s: error %v", step, err)
		}
		if step == "install postgresql" && len(d.calls) == 3 {
			d.wantConfRestored()
		}
	}
}

func TestInstallOnceWhenManyProcessesNeedIt(t *testing.T) {
	t.Parallel()
	d := newDebian(t)
	var installing atomic.Int32
	install := d.installer()
	install.run = func(ctx context.Context, log io.Writer, name string, args ...string) error {
		if installing.Add(1) != 1 {
			t.Error("two installations at once")
		}
		defer installing.Add(-1)
		return d.run(ctx, log, name, args...)
	}
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			if _, err := install.install(t.Context(), io.Discard); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(d.calls) != 3 {
		t.Errorf("%d calls of apt-get, want the 3 of one installation:\n%s", len(d.calls), strings.Join(d.calls, "\n"))
	}
}

func TestInstallOnlyAsRootOnDebian(t *testing.T) {
	t.Parallel()
	d := newDebian(t)
	fedora := newMachine(t)
	for _, c := range []struct {
		root string
		euid int
		want bool
	}{
		{d.root, 0, true},
		{d.root, 1000, false},
		{fedora.root, 0, false},
	} {
		if got := (installer{root: c.root, euid: c.euid}).allowed(); got != c.want {
			t.Errorf("allowed for uid %d is %v, want %v", c.euid, got, c.want)
		}
	}
}

func TestInstallLockHonoursContext(t *testing.T) {
	t.Parallel()
	d := newDebian(t)
	unlock, err := lockFile(t.Context(), filepath.Join(d.root, "/var/lib/dpkg"))
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.installer().install(ctx, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("install beside another one returned %v", err)
	}
}
