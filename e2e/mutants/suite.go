package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"

	"github.com/holdfast-dev/holdfast/e2e/fault"
)

var (
	failed = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)
	// hung are the tests that ran when the time of all was over: "running tests:" and a line each.
	hung = regexp.MustCompile(`(?m)^\t+(Test\S+) \(\S+\)$`)
	none = regexp.MustCompile(`(?m)^ok .*\[no tests to run\]$`)
)

// suite runs the tests that should see a mutant, without it first, and returns those that failed with it.
func (t *tree) suite(ctx context.Context, m *mutant, dir string) ([]string, error) {
	clean, err := t.test(ctx, m, "")
	if err == nil && len(clean) > 0 {
		err = fmt.Errorf("%s fails without the mutant: nothing would be proven", strings.Join(clean, ", "))
	}
	if err != nil {
		return nil, err
	}
	replace, err := t.mutate(m, dir)
	if err != nil {
		return nil, err
	}
	overlay, err := fault.WriteOverlay(dir, replace)
	if err != nil {
		return nil, err
	}
	return t.test(ctx, m, overlay)
}

// test runs the tests of a mutant, over an overlay unless it is empty, and returns those that failed. That
// something does not compile, or that there are no such tests, is an error.
func (t *tree) test(ctx context.Context, m *mutant, overlay string) ([]string, error) {
	args := []string{"test", "-count=1", "-run", "^(" + strings.Join(m.caughtBy, "|") + ")$"}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, m.tests)...)
	cmd.Dir = t.Root
	text, err := cmd.CombinedOutput()
	return verdict(string(text), err)
}

// verdict reads what go test says.
func verdict(text string, err error) ([]string, error) {
	var names []string
	for _, match := range failed.FindAllStringSubmatch(text, -1) {
		names = append(names, match[1])
	}
	if err != nil && strings.Contains(text, "panic: test timed out") {
		for _, match := range hung.FindAllStringSubmatch(text, -1) {
			names = append(names, match[1])
		}
	}
	switch {
	case err == nil && none.MatchString(text):
		return nil, errors.New("there are no such tests")
	case err != nil && len(names) == 0:
		return nil, fmt.Errorf("no test has a verdict: %w\n%s", err, text)
	}
	return names, nil
}
