package output_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
)

func TestAge(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second:                     "0ms",
		0:                                "0ms",
		40*time.Millisecond + 999:        "40ms",
		3*time.Second + 999999999:        "3s",
		3 * time.Minute:                  "3m",
		2*time.Minute + 5*time.Second:    "2m 5s",
		4*time.Hour + 10*time.Minute + 5: "4h 10m",
		76 * time.Hour:                   "3d 4h",
	} {
		if got := output.Age(d); got != want {
			t.Errorf("Age(%d) = %q, want %q", d, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 events", 1: "1 event", 999: "999 events", 1204: "1,204 events", 1000000: "1,000,000 events"} {
		if got := output.Count(n, "event"); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
	if got := output.Number(-1234); got != "-1,234" {
		t.Errorf("Number(-1234) = %q", got)
	}
}

func TestTableAligns(t *testing.T) {
	t.Parallel()
	table := output.Table{Heads: []string{"LANE", "OWNER", "EVENTS"}, Right: []bool{true, false, true}}
	table.Add("1", "größe", "1,204")
	table.Add("12", "", "3")
	var out strings.Builder
	if err := table.Write(&out); err != nil {
		t.Fatal(err)
	}
	want := "LANE  OWNER  EVENTS\n   1  größe   1,204\n  12              3\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestFlagTakesWhatTheCommandHas(t *testing.T) {
	t.Parallel()
	f := output.NewFlag(output.Text, output.JSON)
	if f.Format() != output.Text || f.Set("json") != nil || f.Format() != output.JSON {
		t.Errorf("the format is %s", f.Format())
	}
	if err := f.Set("yaml"); err == nil || err.Error() != "the formats are text, json" {
		t.Errorf("yaml: %v", err)
	}
}
