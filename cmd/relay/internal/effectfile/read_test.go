package effectfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/cmd/relay/internal/effectfile"
)

const good = `group: ledger
table: billing.entry
type: refund
source: provider
account: account
key:
  - name: refund
    column: provider_refund
  - {name: start, column: told, field: start}
attributes: {amount: cents}
only: {kind: refund}
untouched: {status: pending, adjusted_at: null}
index: entry_once
`

func write(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "effects.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestRead(t *testing.T) {
	t.Parallel()
	tables, err := effectfile.Read(write(t, good+"---\n"+strings.Replace(good, "billing.entry", "billing.other", 1)))
	if err != nil || len(tables) != 2 {
		t.Fatalf("%d tables, %v", len(tables), err)
	}
	first := tables[0]
	if pending := first.Untouched["status"]; pending == nil || *pending != "pending" {
		t.Errorf("status is untouched when it is %v", pending)
	}
	if value, has := first.Untouched["adjusted_at"]; !has || value != nil {
		t.Errorf("adjusted_at is untouched when it is %v, %v", value, has)
	}
	if first.Fact != "fact_id" || first.Key[1].Field != "start" || tables[1].Table != "billing.other" {
		t.Errorf("the descriptions are %+v", tables)
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for want, text := range map[string]string{
		"describes no table":  "",
		"colour":              good + "colour: blue\n",
		"index: must be":      strings.Replace(good, "index: entry_once", "index:", 1),
		"changes between del": strings.Replace(good, "name: refund\n", "name: event_id\n", 1),
	} {
		if _, err := effectfile.Read(write(t, text)); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "effects.yaml") {
			t.Errorf("%s: error is %v", want, err)
		}
	}
}

// TestReadRefusesWhatIsTooLarge: nothing of it is read in silence, also where its first part is whole.
func TestReadRefusesWhatIsTooLarge(t *testing.T) {
	t.Parallel()
	text := good + strings.Repeat("#\n", (1<<20-len(good))/2)
	if len(text) < 1<<20 {
		text += "\n"
	}
	if tables, err := effectfile.Read(write(t, text)); err != nil || len(tables) != 1 {
		t.Errorf("1 MiB: %d tables, %v", len(tables), err)
	}
	text += "---\n" + good
	if tables, err := effectfile.Read(write(t, text)); err == nil || !strings.HasSuffix(err.Error(), "effects.yaml: is larger than 1048576 bytes") {
		t.Errorf("more: %d tables, %v", len(tables), err)
	}
}
