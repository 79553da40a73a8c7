package catalog_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// TestNoSharedRowLocksInTheLog: foreign keys and FOR SHARE make multixacts, whose shared
// buffers every session contends for. The gate of a hold needs one; staging and draining
// must do without.
func TestNoSharedRowLocksInTheLog(t *testing.T) {
	t.Parallel()
	shared := regexp.MustCompile(`(?i)\b(REFERENCES|FOREIGN KEY|FOR (KEY )?SHARE)\b`)
	comment := regexp.MustCompile(`(?m)--.*$`)
	for _, c := range []canonical.Component{canonical.Outbox, canonical.Relay} {
		files, err := canonical.Files(c)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			r, err := file.Render(canonical.DefaultParams())
			if err != nil {
				t.Fatal(err)
			}
			// A rotation that moves a held event locks the gate of its generation as a held write does:
			// rows of component hold, few of them, and not the log's.
			sql := strings.ReplaceAll(comment.ReplaceAllString(r.SQL, ""), "FOR SHARE OF g SKIP LOCKED", "")
			if found := shared.FindString(sql); found != "" {
				t.Errorf("component %s version %d has %s", c, file.Version, found)
			}
		}
	}
}
