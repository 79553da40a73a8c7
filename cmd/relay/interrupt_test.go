package main

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// TestInterruptWhileConnecting: a server that accepts a connection and never answers holds nobody who has had enough.
func TestInterruptWhileConnecting(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() }) // it has served its purpose
	cmd := exec.Command(os.Args[0], "stream", "plan", "--stream", "ORDERS")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), mainEnv + "=1", "RELAY_NATS_URL=nats://" + silent.Addr().String()}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	conn, err := silent.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // whoever connected has ended
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	var exited *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exited) || exited.ExitCode() != 130 {
		t.Errorf("it ended with %v, want exit status 130", err)
	}
}
