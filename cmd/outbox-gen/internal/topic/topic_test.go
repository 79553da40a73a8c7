package topic_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/cmd/outbox-gen/internal/topic"
	"github.com/holdfast-dev/holdfast/gen"
)

func TestEveryTopicIsComplete(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, one := range topic.All() {
		if one.Name == "" || one.Group == "" || one.Summary == "" || strings.HasSuffix(one.Summary, ".") || !strings.HasSuffix(one.Text, ".") {
			t.Errorf("incomplete: %+v", one)
		}
		if seen[strings.ToLower(one.Name)] {
			t.Errorf("%s is there twice", one.Name)
		}
		seen[strings.ToLower(one.Name)] = true
	}
	for _, k := range gen.Kinds() {
		if topic.OfKind(k).Group != topic.Drift {
			t.Errorf("no topic for %s", k)
		}
	}
	if _, ok := topic.Find("hf011"); !ok {
		t.Error("case counts")
	}
}

// Every code that the SQL raises is explained.
func TestEveryCodeIsExplained(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../../schema/canonical/*/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("find the canonical schema: %d files, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, code := range regexp.MustCompile(`'(HF\d{3})'`).FindAllStringSubmatch(string(text), -1) {
			if _, ok := topic.Find(code[1]); !ok {
				t.Errorf("%s raises %s, which no topic explains", filepath.Base(file), code[1])
			}
		}
	}
}
