package overlay_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/holdfast-dev/holdfast/e2e/overlay"
)

// TestBuildTakesWhatIsLaidOver: a file that the tree does not have, in a build of its own only.
func TestBuildTakesWhatIsLaidOver(t *testing.T) {
	t.Parallel()
	tree, err := overlay.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	files := map[string]string{"e2e/overlay/planted/main.go": "package main\n\nfunc main() { print(\"planted\") }\n"}
	if err := tree.Build(t.Context(), dir, program, "./e2e/overlay/planted", files); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.Command(program).CombinedOutput(); err != nil || string(said) != "planted" {
		t.Errorf("it said %q, %v", said, err)
	}
	if err := tree.Build(t.Context(), dir, program, "./e2e/overlay/planted", nil); err == nil {
		t.Error("the tree has what was laid over it")
	}
}
