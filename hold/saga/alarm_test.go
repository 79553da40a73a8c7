package saga_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/hold/saga"
)

// TestAlarmsTellWhatChanged: operations that are stuck, and a release that is later than the
// threshold. Each is told once, and once more when it is over; nothing that a request said is told.
func TestAlarmsTellWhatChanged(t *testing.T) {
	t.Parallel()
	b := setupAlone(t, saga.Settings{})
	var log bytes.Buffer
	c, err := saga.NewCoordinator(b.Pool, b.store, nil, saga.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	tick := func(want ...string) {
		t.Helper()
		log.Reset()
		for range 2 {
			b.tick(c)
		}
		told = nil
		for line := range strings.Lines(log.String()) {
			_, line, _ = strings.Cut(line, "level=")
			level, _, _ := strings.Cut(line, " ")
			_, line, _ = strings.Cut(line, `msg="`)
			message, _, _ := strings.Cut(line, `"`)
			told = append(told, level+" "+message)
		}
		if diff := cmp.Diff(want, told); diff != "" {
			t.Errorf("told (-want +got):\n%s\n%s", diff, log.String())
		}
		if strings.Contains(log.String(), "2026-11-29") || strings.Contains(log.String(), "Ada") {
			t.Errorf("the log has the request: %s", log.String())
		}
	}
	tick()
	stuck, late := b.draft(), b.draft()
	b.win(b.request(stuck))
	b.win(b.request(late))
	b.exec(`UPDATE outbox.saga_operation SET state = 'stuck', lease_holder = NULL, lease_expires_at = NULL WHERE operation_id = $1`, stuck)
	b.exec(`UPDATE outbox.saga_operation SET state = 'completed', result = '{"name": "Ada"}', lease_holder = NULL, lease_expires_at = NULL,
		updated_at = clock_timestamp() - interval '4 min' WHERE operation_id = $1`, late)
	tick("ERROR operations are stuck")
	b.exec(`UPDATE outbox.saga_operation SET updated_at = clock_timestamp() - interval '301 s' WHERE operation_id = $1`, late)
	tick("ERROR completed operations are not released")
	b.exec(`DELETE FROM outbox.saga_operation`)
	tick("INFO no operation is stuck", "INFO completed operations are released in time")
}
