package upgrade_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestOverlay is about what no upgrade does yet: a release that lacks a file, and an object.
func TestOverlay(t *testing.T) {
	t.Parallel()
	var overlay struct{ Replace map[string]string }
	unmarshal(t, release{name: "removed"}.overlay(t, t.TempDir()), &overlay)
	gone := absolute(t, root, "schema", "canonical", "relay", "0001_relay.sql")
	if with, has := overlay.Replace[gone]; !has || with != "" {
		t.Errorf("the removed file is replaced: %v with %q", has, with)
	}
	snapshots := 0
	for path, with := range overlay.Replace {
		if !strings.HasSuffix(path, ".json") {
			continue
		}
		snapshots++
		var before, after struct{ Components map[string]map[string]any }
		unmarshal(t, path, &before)
		unmarshal(t, with, &after)
		const key = "column outbox_batch stream"
		if _, has := after.Components["relay"][key]; has || len(after.Components["relay"]) != len(before.Components["relay"])-1 {
			t.Errorf("%s still has the %s, or lacks more", filepath.Base(path), key)
		}
	}
	if snapshots < 5 {
		t.Errorf("only %d snapshots are patched", snapshots)
	}
}
