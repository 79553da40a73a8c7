package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestCutoverRunsWhatItsRunbookSays: every command and every statement of docs/cutover.md stands in the script that
// performs it, in the same order.
func TestCutoverRunsWhatItsRunbookSays(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/cutover.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/script/cutover.txtar")
	if err != nil {
		t.Fatal(err)
	}
	script, files, _ := strings.Cut(string(text), "\n-- ")
	commands, statements := 0, 0
	for _, block := range regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$").FindAllStringSubmatch(string(doc), -1) {
		if block[1] == "sql" {
			statements++
			if !strings.Contains(files, ".sql --\n"+block[2]) {
				t.Errorf("no file of the script has the statements:\n%s", block[2])
			}
			continue
		}
		for line := range strings.Lines(block[2]) {
			commands++
			_, rest, found := strings.Cut(script, "\n"+line)
			if !found {
				t.Errorf("the script does not run, after what comes before it: %s", line)
				continue
			}
			script = "\n" + rest
		}
	}
	if commands < 10 || statements < 3 {
		t.Errorf("found %d commands and %d blocks of statements in the runbook", commands, statements)
	}
}
