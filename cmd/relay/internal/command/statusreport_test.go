package command

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/relay"
	"github.com/holdfast-dev/holdfast/relay/retention"
)

// twoLanes is a group in which one relay drains one of two lanes.
func twoLanes() *relay.Status {
	return &relay.Status{
		Group: "default", At: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC), Backlog: 1204, OldestEvent: 90 * time.Second, Held: 1, OldestHeld: 26 * time.Hour,
		Relays: []relay.RelayStatus{{Owner: "pod-a", Version: "v1.2.3", StartedAt: time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)}},
		Lanes: []relay.LaneStatus{
			{Lane: 0, Owner: "pod-a", Live: true, Paging: true, Backlog: 1200, Oldest: 90 * time.Second, StreamSeq: 77},
			{Lane: 1, Owner: "pod-b", Backlog: 4, Oldest: 1500 * time.Millisecond},
		},
	}
}

// fourSlots is a log with a slot that nobody can empty, and one that is overdue for a moment only.
func fourSlots(noon time.Time) *retention.State {
	long, moment, yesterday, three := noon.Add(-72*time.Hour), noon.Add(-48*time.Hour-time.Minute), noon.Add(-12*time.Hour), int16(3)
	return &retention.State{
		Keep: 48 * time.Hour, Longest: 48 * time.Hour, Period: 24 * time.Hour, Now: noon, RotatedAt: &yesterday, RotatedSlot: &three,
		Slots: []retention.Slot{
			{Slot: 0, Outcome: retention.Undrained, Why: "group mirror has not drained lane 3", Dated: &long, Bytes: 1 << 20, Events: 5000, Dead: 2},
			{Slot: 1, Outcome: retention.Ready, Dated: &moment, Bytes: 1 << 19, Events: 2000},
			{Slot: 2, Outcome: retention.Current, Dated: &noon, Bytes: 1 << 18, Events: 100},
			{Slot: 3, Outcome: retention.Empty, Bytes: 1 << 16},
		},
	}
}

// The JSON is a contract: what it has stays, and means the same.
func TestStatusOutputMatchesGoldenFiles(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	report := newStatusReport(twoLanes(), "outbox", nil)
	report.retain(fourSlots(noon))
	for name, format := range map[string]output.Format{"status.json": output.JSON, "status.jsonl": output.JSONL, "status.txt": output.Text} {
		var got strings.Builder
		if err := report.write(&got, format); err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	group := func(live, lanes, relays int, backlog int64, oldest time.Duration) *relay.Status {
		s := &relay.Status{Group: "default", Backlog: backlog, OldestEvent: oldest, Relays: make([]relay.RelayStatus, relays)}
		for n := range lanes {
			s.Lanes = append(s.Lanes, relay.LaneStatus{Lane: int16(n), Live: n < live})
		}
		return s
	}
	capped := group(16, 16, 2, 1_600_000, time.Hour)
	capped.Capped = true
	for _, c := range []struct {
		status  *relay.Status
		state   statusState
		verdict string
	}{
		{group(16, 16, 3, 0, 0), statusDraining, "Draining: 3 relays, 16 of 16 lanes owned, 0 events behind."},
		{group(1, 1, 1, 1, 40*time.Millisecond), statusDraining, "Draining: 1 relay, 1 of 1 lane owned, 1 event behind."},
		{group(0, 16, 0, 1204, 3*time.Minute), statusUnattended, "Nobody drains: 16 lanes have no live relay; 1,204 events wait, the oldest for 3m."},
		{group(0, 1, 0, 1, time.Second), statusUnattended, "Nobody drains: 1 lane has no live relay; 1 event waits, the oldest for 1s."},
		{group(0, 16, 0, 0, 0), statusIdle, "Nobody drains: 16 lanes have no live relay; no event waits."},
		{group(12, 16, 2, 5, time.Second), statusBehind, "Taking over: 2 relays, 12 of 16 lanes owned, 5 events behind."},
		{group(16, 16, 2, 5, 2*time.Minute), statusBehind, "Behind: 2 relays, 16 of 16 lanes owned; 5 events wait, the oldest for 2m. A relay's /readyz says why."},
		{capped, statusBehind, "Behind: 2 relays, 16 of 16 lanes owned; at least 1,600,000 events wait, the oldest for 1h. A relay's /readyz says why."},
	} {
		report := newStatusReport(c.status, "outbox", nil)
		if report.State != c.state || report.Verdict != c.verdict || report.Healthy != (c.state != statusUnattended) {
			t.Errorf("got %s %q, want %s %q", report.State, report.Verdict, c.state, c.verdict)
		}
	}
}

// TestVerdictsOfTheBroker: what the broker said counts where there are relays that could publish.
func TestVerdictsOfTheBroker(t *testing.T) {
	t.Parallel()
	group := func(live int, backlog int64) *relay.Status {
		return &relay.Status{Group: "default", Backlog: backlog, OldestEvent: 3 * time.Minute, Relays: make([]relay.RelayStatus, 1), Lanes: []relay.LaneStatus{{Live: live > 0}}}
	}
	away := &statusPublisher{Kind: "unknown", Reason: "stream ORDERS not found", Away: true}
	unreached := &statusPublisher{Kind: "unknown", Reason: "connect to nats: refused", Away: true, fromHere: true}
	restricted := &statusPublisher{Kind: "unknown", Reason: "stream ORDERS: permissions violation"}
	young := group(1, 50)
	young.OldestEvent = stalled - time.Millisecond
	for _, c := range []struct {
		status    *relay.Status
		publisher *statusPublisher
		state     statusState
		healthy   bool
		verdict   string
	}{
		{group(1, 50), away, statusWaiting, false, "Waiting for the broker: stream ORDERS not found; 50 events wait, the oldest for 3m. Nothing is lost, attempts are not counted."},
		{group(1, 1), away, statusWaiting, false, "Waiting for the broker: stream ORDERS not found; 1 event waits, the oldest for 3m. Nothing is lost, attempts are not counted."},
		{group(1, 0), away, statusWaiting, true, "Waiting for the broker: stream ORDERS not found; no event waits."},
		{group(1, 50), unreached, statusWaiting, false, "Waiting for the broker: connect to nats: refused; 50 events wait, the oldest for 3m. Nothing is lost, attempts are not counted."},
		{young, unreached, statusDraining, true, "Draining: 1 relay, 1 of 1 lane owned, 50 events behind. This host cannot reach the broker: connect to nats: refused."},
		{group(1, 0), unreached, statusDraining, true, "Draining: 1 relay, 1 of 1 lane owned, 0 events behind. This host cannot reach the broker: connect to nats: refused."},
		{young, away, statusWaiting, false, "Waiting for the broker: stream ORDERS not found; 50 events wait, the oldest for 9s. Nothing is lost, attempts are not counted."},
		{group(0, 50), away, statusUnattended, false, "Nobody drains: 1 lane has no live relay; 50 events wait, the oldest for 3m."},
		{group(1, 50), restricted, statusBehind, true, "Behind: 1 relay, 1 of 1 lane owned; 50 events wait, the oldest for 3m. A relay's /readyz says why."},
	} {
		report := newStatusReport(c.status, "outbox", c.publisher)
		if report.State != c.state || report.Verdict != c.verdict || report.Healthy != c.healthy {
			t.Errorf("got %s %q %t, want %s %q %t", report.State, report.Verdict, report.Healthy, c.state, c.verdict, c.healthy)
		}
	}
}
