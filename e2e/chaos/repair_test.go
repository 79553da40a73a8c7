package main

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOnlyWhatARollbackRemovedMayStandBehindLaterEvents(t *testing.T) {
	t.Parallel()
	const report = `{"verdict": "Not sound", "findings": [
		{"finding": "missing", "count": 2}, {"finding": "disordered", "count": 3}, {"finding": "late", "count": 9, "explained": true}],
		"examples": [{"finding": "disordered", "event_id": "a"}, {"finding": "disordered", "event_id": "b"},
		{"finding": "disordered", "event_id": "c"}, {"finding": "missing", "event_id": "a"}, {"finding": "late", "event_id": "a"}]}`
	var r reconciled
	if err := json.Unmarshal([]byte(report), &r); err != nil {
		t.Fatal(err)
	}
	if r.missing() != 2 {
		t.Errorf("%d are missing", r.missing())
	}
	for want, removed := range map[int]map[string]bool{3: nil, 2: {"a": true, "x": true}, 0: {"a": true, "b": true, "c": true}} {
		if diff := cmp.Diff(map[string]int{"missing": 2, "disordered": want}, r.unexplained(removed)); diff != "" {
			t.Errorf("removed %v (-want +got):\n%s", removed, diff)
		}
	}
}
