package port_test

import (
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/e2e/port"
)

const childEnv = "HOLDFAST_PORT_CHILD"

// TestMain is a process that takes a port and says which, when asked to.
func TestMain(m *testing.M) {
	if os.Getenv(childEnv) == "" {
		os.Exit(m.Run())
	}
	n, err := port.Take()
	if err != nil {
		os.Exit(1)
	}
	_, _ = os.Stdout.WriteString(strconv.Itoa(n))
}

// TestPortIsNobodyElses: what is taken is neither taken again nor busy, and can be listened on.
func TestPortIsNobodyElses(t *testing.T) {
	t.Parallel()
	seen := map[int]bool{}
	for range 200 {
		n, err := port.Take()
		if err != nil {
			t.Fatal(err)
		}
		if seen[n] || port.Busy(n) || n < port.First || n >= port.Last {
			t.Errorf("port %d: taken before %v, busy %v", n, seen[n], port.Busy(n))
		}
		seen[n] = true
	}
	for range 20 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"=1")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(strings.TrimSpace(string(out)))
		if err != nil || seen[n] {
			t.Errorf("another process took %q, %v", out, err)
		}
	}
}

func TestBusy(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", port.Loopback+":0")
	if err != nil {
		t.Fatal(err)
	}
	n := l.Addr().(*net.TCPAddr).Port
	if !port.Busy(n) {
		t.Errorf("port %d is in use and not seen as busy", n)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}
