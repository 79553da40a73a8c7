package fault

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ClockSkewEnv says by how many seconds the clock of a process is wrong that was built with
// [SkewedClock]: ahead, or behind with a minus. What is no such number is no skew.
const ClockSkewEnv = "HOLDFAST_CLOCK_SKEW"

// The text of time.Now behind which the skew goes, and the skew. Package time may import little: it
// reads its own environment as it does to find the time zone.
const (
	clockRead = "sec, nsec, mono := runtimeNow()\n\tif mono == 0 {"
	clockSkew = "sec, nsec, mono := runtimeNow()\n\tsec += holdfastSkew\n\tif mono == 0 {"
	clockFile = `package time

import "syscall"

// holdfastSkew is how many seconds the clock of this process is wrong.
var holdfastSkew = func() (skew int64) {
	text, _ := syscall.Getenv("` + ClockSkewEnv + `")
	sign := int64(1)
	for i, c := range text {
		switch {
		case i == 0 && c == '-':
			sign = -1
		case c < '0' || c > '9':
			return 0
		default:
			skew = skew*10 + int64(c-'0')
		}
	}
	return sign * skew
}()
`
)

// SkewedClock returns the replacements with which go build -overlay makes a program whose clock can be
// set wrong by [ClockSkewEnv]. The wall clock is; the monotonic clock, and with it every
// timer and every duration, is not. The files are written to a directory.
func SkewedClock(ctx context.Context, dir string) (replace map[string]string, err error) {
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("find the standard library, which needs the go command: %w", err)
	}
	source := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	text, err := os.ReadFile(filepath.Join(source, "time.go"))
	if err != nil {
		return nil, fmt.Errorf("make a clock that is wrong: %w", err)
	}
	if n := strings.Count(string(text), clockRead); n != 1 {
		return nil, fmt.Errorf("make a clock that is wrong: time.Now of this Go version reads it in %d places that are known, and should in one", n)
	}
	replace = map[string]string{}
	for name, text := range map[string]string{
		"time.go":     strings.Replace(string(text), clockRead, clockSkew, 1),
		"holdfast.go": clockFile,
	} {
		path := filepath.Join(dir, "clock-"+name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return nil, err
		}
		replace[filepath.Join(source, name)] = path
	}
	return replace, nil
}

// WriteOverlay writes what go build -overlay reads into a directory, and returns its name.
func WriteOverlay(dir string, replace map[string]string) (string, error) {
	config, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, config, 0o644)
}
