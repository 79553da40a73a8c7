package pods_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// wrongClocks are those of the pods that share a database.
var wrongClocks = map[string]string{"behind": "-2h", "ahead": "10m", "far-ahead": "72h"}

// TestPodsWithWrongClocks: three pods whose clocks are days apart share the lanes, try a refused
// event again, give it up, and take over from one that is killed, all by the clock of the database.
func TestPodsWithWrongClocks(t *testing.T) {
	t.Parallel()
	s := newSite(t, build(t), outboxtest.NewDatabase(t), 2*time.Minute)
	pods := map[string]*relay{}
	for name, clock := range wrongClocks {
		pods[name] = s.start(name, "HOLDFAST_CLOCK="+clock, "RELAY_REFUSED_RETRIES=4", "RELAY_REFUSED_PAUSE_MIN=100ms")
	}
	s.eventually("each has its share", func() bool {
		return query[int](s, "SELECT count(*) FROM (SELECT FROM outbox.outbox_lane WHERE lease_until > clock_timestamp() GROUP BY lease_owner HAVING count(*) BETWEEN 4 AND 6) p") == 3
	})
	s.refuse()
	s.eventually("the event is given up", func() bool { return query[int](s, "SELECT count(*) FROM outbox.outbox_dead_letter") == 1 })
	s.eventually("its key goes on, and everything else is settled", func() bool { return s.late() == 0 })
	for name, pod := range pods {
		pod.statesTheTime(wrongClocks[name])
	}

	healed := time.Now()
	pods["behind"].proc.Kill()
	s.load()
	s.eventually("what is left is taken over", func() bool { return s.late() == 0 })
	pods["ahead"].stop()
	pods["far-ahead"].stop()
	h := s.judge(healed, 1)
	claims := map[string]int{}
	for _, m := range h.Moves {
		if m.After.Token != m.Before.Token && m.After.Token != "" {
			claims[m.After.Owner]++
		}
		if length := m.After.Until.Sub(m.At); m.After.Owner != "" && length > 3*time.Second {
			t.Errorf("lane %d has a lease of %s, by the clock of %s", m.Number, length, m.After.Owner)
		}
	}
	if len(claims) != 3 {
		t.Errorf("lanes were claimed by %v, want three pods", claims)
	}
	s.tellsDatabaseTime()
}

// statesTheTime wants the pod's clock to be as wrong as it is meant to be, and what relay status
// says of times to be right all the same.
func (r *relay) statesTheTime(clock string) {
	t := r.s.t
	t.Helper()
	ahead, err := time.ParseDuration(clock)
	if err != nil {
		t.Fatal(err)
	}
	word := "behind that of this machine"
	if ahead < 0 {
		word = "ahead of that of this machine"
	}
	if check := r.ask("check"); !strings.Contains(check, word) {
		t.Errorf("relay check of %s, whose clock is %s off, does not say that the database's is %s:\n%s", r.name, clock, word, check)
	}
	before := query[time.Time](r.s, "SELECT date_trunc('second', clock_timestamp())")
	var status struct {
		At     time.Time
		Relays []struct {
			StartedAt time.Time `json:"started_at"`
		}
	}
	text := r.ask("status", "-o", "json")
	if err := json.Unmarshal([]byte(text), &status); err != nil {
		t.Fatalf("relay status: %v\n%s", err, text)
	}
	after := query[time.Time](r.s, "SELECT clock_timestamp()")
	if status.At.Before(before) || status.At.After(after) {
		t.Errorf("%s says that it is %s, it is %s", r.name, status.At, after)
	}
	r.numbersReplays(before, after)
	if len(status.Relays) != len(wrongClocks) {
		t.Errorf("%s knows of %d pods, want %d:\n%s", r.name, len(status.Relays), len(wrongClocks), text)
	}
	for _, pod := range status.Relays {
		if pod.StartedAt.After(after) || after.Sub(pod.StartedAt) > time.Hour {
			t.Errorf("a pod has run since %s, it is %s", pod.StartedAt, after)
		}
	}
}

// numbersReplays wants a replay to be numbered by the microsecond that it is for the database.
func (r *relay) numbersReplays(from, to time.Time) {
	r.s.t.Helper()
	text := r.ask("replay", "--since", "2020-01-01 00:00Z", "-o", "json")
	var replay struct {
		Epoch int64 `json:",string"`
	}
	if err := json.Unmarshal([]byte(text), &replay); err != nil {
		r.s.t.Fatalf("relay replay: %v\n%s", err, text)
	}

	if replay.Epoch < from.UnixMicro() || replay.Epoch > to.Add(time.Minute).UnixMicro() {
		r.s.t.Errorf("%s numbers a replay %d, it is %d", r.name, replay.Epoch, to.UnixMicro())
	}
}

// tellsDatabaseTime wants every time in the tables of the relay to be of the last minutes.
func (s *site) tellsDatabaseTime() {
	s.t.Helper()
	for _, column := range []string{
		"dead_at FROM outbox.outbox_dead_letter", "at FROM outbox.outbox_dead_letter_history",
		"settled_at FROM outbox.outbox_batch", "alive_until FROM outbox.outbox_relay", "at FROM witness.wait",
	} {
		name, _, _ := strings.Cut(column, " ")
		wrong := query[int](s, "SELECT count(*) FROM (SELECT "+column+") c WHERE "+name+" NOT BETWEEN clock_timestamp() - interval '30 minutes' AND clock_timestamp() + interval '1 minute'")
		some := query[int](s, "SELECT count(*) FROM (SELECT "+column+") c")
		if wrong > 0 || some == 0 {
			s.t.Errorf("%d of %d times are not of the database's clock: %s", wrong, some, column)
		}
	}
}
