package fault_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/e2e/fault"
)

// clockProgram prints the wall clock, and how long a pause of 20 ms took by the monotonic one.
const clockProgram = `package main

import (
	"fmt"
	"time"
)

func main() {
	began := time.Now()
	<-time.After(20 * time.Millisecond)
	fmt.Println(began.Unix(), time.Since(began).Microseconds())
}
`

// TestSkewedClock: a program has the wrong time of day that it is given, and durations are right.
func TestSkewedClock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	replace, err := fault.SkewedClock(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := fault.WriteOverlay(dir, replace)
	if err != nil {
		t.Fatal(err)
	}
	program, source := filepath.Join(dir, "clock"), filepath.Join(dir, "main.go")
	if err := os.WriteFile(source, []byte(clockProgram), 0o644); err != nil {
		t.Fatal(err)
	}
	if output, err := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, output)
	}
	for text, skew := range map[string]int64{"": 0, "0": 0, "7200": 7200, "-36000": -36000, "2h": 0} {
		cmd := exec.CommandContext(t.Context(), program)
		cmd.Env = []string{fault.ClockSkewEnv + "=" + text}
		before := time.Now().Unix()
		output, err := cmd.Output()
		after := time.Now().Unix()
		if err != nil {
			t.Fatal(err)
		}
		var at, pause int64
		if _, err := fmt.Fscan(strings.NewReader(string(output)), &at, &pause); err != nil {
			t.Fatalf("%q: %v", output, err)
		}
		if at < before+skew || at > after+skew {
			t.Errorf("skew %q: the clock says %d, and it is %d to %d", text, at, before, after)
		}
		if limit := (time.Duration(after-before+1) * time.Second).Microseconds(); pause < 20_000 || pause > limit {
			t.Errorf("skew %q: a pause of 20 ms took %d µs, of %d at most", text, pause, limit)
		}
	}
}
