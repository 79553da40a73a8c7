package harness_test

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-dev/holdfast/e2e/harness"
)

func TestPostgresEndsWithItsProcess(t *testing.T) {
	t.Parallel()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childEnv+"=1", "TMPDIR="+openTempDir(t))
	child.Stderr = os.Stderr
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	if !accepts(address) {
		t.Fatal("the child's cluster does not run")
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	eventually(t, "the cluster of a killed process ends", func() bool { return !accepts(address) })
}

func accepts(address string) bool {
	conn, err := net.Dial("tcp", address)
	if err == nil {
		_ = conn.Close()
	}
	return err == nil
}

func TestPostgresStartsAfterCrash(t *testing.T) {
	t.Parallel()
	pg := startPostgres(t, harness.PostgresOptions{})
	pid, err := strconv.Atoi(postmasterPID(t, pg))
	if err != nil {
		t.Fatal(err)
	}
	// Behind the harness's back, and without its children.
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the postmaster ends", func() bool { return !accepts(net.JoinHostPort("127.0.0.1", strconv.Itoa(pg.Port()))) })
	eventually(t, "a new one starts", func() bool {
		if err := pg.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		return postmasterPID(t, pg) != strconv.Itoa(pid)
	})
	query(t, pg, "postgres", "select '1'")
}

func TestPostgresKillLeavesNothing(t *testing.T) {
	t.Parallel()
	pg := startPostgres(t, harness.PostgresOptions{})
	backend := int(connect(t, pg, "postgres").PgConn().PID())
	pidFile, err := os.ReadFile(filepath.Join(pg.Dir(), "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	segment := strings.Fields(strings.Split(string(pidFile), "\n")[6])[1]
	if !segmentExists(t, segment) {
		t.Fatalf("no shared memory segment %s in a running cluster", segment)
	}
	pg.Kill()
	eventually(t, "the backend ends", func() bool {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(backend) + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
	if err := pg.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the shared memory goes", func() bool { return !segmentExists(t, segment) })
}

func segmentExists(t *testing.T, id string) bool {
	t.Helper()
	segments, err := os.ReadFile("/proc/sysvipc/shm")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(segments)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[1] == id {
			return true
		}
	}
	return false
}
