package history_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/e2e/history"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

func TestWitnessRecordsWhatBecomesOfLanes(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	conn, err := pgx.Connect(t.Context(), db.URL+"&application_name=relay-1")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if err := history.InstallWitness(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		"select outbox.publish(source => '/test', type => 'one', id => 'a')",
		"update outbox.outbox_lane set lease_owner = 'relay-1', lease_token = '0190b0c4-7d1e-7c1e-8a44-5a3c2c1f9d10', lease_until = now() + '1 minute' where lane = 3",
		"update outbox.outbox_lane set drained = '5:9:6,7', target = '9:9:', pos = 4 where lane = 3",
		"insert into outbox.outbox_batch (relay_group, lane, events, seq_first, seq_last, stream, stream_seq_first, stream_seq_last) values ('default', 3, 2, 1, 2, 's', 1, 2)",
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	var h history.History
	if err := h.ReadWitness(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	snapshot := func(text string) history.Snapshot {
		s, err := history.ParseSnapshot(text)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	none := history.Lane{Drained: snapshot("1:1:")}
	claimed := history.Lane{Owner: "relay-1", Token: "0190b0c4-7d1e-7c1e-8a44-5a3c2c1f9d10", Drained: snapshot("1:1:")}
	settled := claimed
	target := snapshot("9:9:")
	settled.Drained, settled.Target, settled.Position = snapshot("5:9:6,7"), &target, 4
	want := []history.Move{
		{Session: "relay-1", Number: 3, Before: none, After: claimed},
		{Session: "relay-1", Number: 3, Before: claimed, After: settled},
	}
	times := cmpopts.IgnoreFields(history.Move{}, "Began", "At")
	if diff := cmp.Diff(want, h.Moves, times, cmpopts.IgnoreFields(history.Lane{}, "Until")); diff != "" {
		t.Errorf("moves (-want +got):\n%s", diff)
	}
	m := h.Moves[1]
	if m.Began.IsZero() || m.At.Before(m.Began) || !m.Before.Until.After(m.At) || h.Moves[0].At.After(m.At) {
		t.Errorf("times of %+v", m)
	}
	if len(h.Rows) != 1 || h.Rows[0].ID != "a" || h.Rows[0].Tx == 0 || h.Settled != 2 {
		t.Errorf("rows %+v, %d settled", h.Rows, h.Settled)
	}
}
