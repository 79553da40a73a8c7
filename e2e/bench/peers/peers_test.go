package main

import (
	"context"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
)

// testRig starts the servers of a test. Its stream is one, so runs on it come one after the other.
func testRig(t *testing.T) *rig {
	t.Helper()
	r, err := newRig(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// TestEveryPeerDelivers moves some hundred events with each peer; run fails unless all of them are in
// the stream, once, with their bytes.
func TestEveryPeerDelivers(t *testing.T) {
	t.Parallel()
	r := testRig(t)
	events := makeItems(300, 512)
	for _, e := range entrants() {
		t.Run(e.name, func(t *testing.T) {
			got, err := r.run(t.Context(), e, events)
			if err != nil {
				t.Fatal(err)
			}
			if got.rate <= 0 {
				t.Errorf("rate %v", got.rate)
			}
		})
	}
}

// TestProof gives the proof streams that are wrong in one way each.
func TestProof(t *testing.T) {
	t.Parallel()
	r := testRig(t)
	events := makeItems(4, 64)
	events[2].key, events[3].key = "key", "key"
	sent := func(order ...int) []*nats.Msg {
		var list []*nats.Msg
		for _, i := range order {
			list = append(list, natsMessage(events[i].id, events[i].data))
		}
		return list
	}
	changed := sent(0, 1, 2, 3)
	changed[1].Data = []byte(`"other"`)
	foreign := sent(0, 1, 2, 3)
	foreign[3].Header.Set(nats.MsgIdHdr, "nobody's")
	twice := sent(0, 1, 2, 2)
	twice[3].Header["ce-id"] = twice[3].Header[nats.MsgIdHdr]
	twice[3].Header.Set(nats.MsgIdHdr, "for the broker it is another one")
	for _, c := range []struct {
		name     string
		messages []*nats.Msg
		disorder int
		wrong    string
	}{
		{"in order", sent(0, 1, 2, 3), 0, ""},
		{"keys apart in any order", sent(2, 1, 0, 3), 0, ""},
		{"a key out of order", sent(0, 1, 3, 2), 1, ""},
		{"one missing", sent(0, 1, 2), 0, "3 messages in the stream for 4 events"},
		{"other bytes", changed, 0, "came with other bytes"},
		{"a foreign one", foreign, 0, "was never staged"},
		{"one twice", twice, 0, "came twice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			disorder, err := proofOf(t.Context(), r, events, c.messages)
			if c.wrong == "" && (err != nil || disorder != c.disorder) {
				t.Errorf("got %d out of order, %v; want %d", disorder, err, c.disorder)
			}
			if c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
				t.Errorf("got %v, want: %s", err, c.wrong)
			}
		})
	}
}

func proofOf(ctx context.Context, r *rig, events []item, messages []*nats.Msg) (int, error) {
	if err := r.freshStream(ctx); err != nil {
		return 0, err
	}
	for _, m := range messages {
		if _, err := r.js.PublishMsg(ctx, m); err != nil {
			return 0, err
		}
	}
	return r.proof(ctx, events)
}

func TestFigures(t *testing.T) {
	t.Parallel()
	first := []result{{rate: 3000, cpu: 0.1}, {rate: 4000, cpu: 0.1}, {rate: 1000, cpu: 0.1}}
	runs := []result{{rate: 1000, cpu: 0.4}, {rate: 1000, cpu: 0.3, disorder: 7}, {rate: 500, cpu: 0.2}}
	var out strings.Builder
	for _, f := range figuresOf("it", runs, first) {
		f.Print(&out)
	}
	for _, want := range []string{
		"BENCH peer_it_rate 1000 events/s\n", "BENCH peer_it_ratio 3.000 ratio\n", "# peer_it_ratio: 3.000 4.000 2.000\n",
		"BENCH peer_it_cpu 0.300 s/1000\n", "BENCH peer_it_disorder 0.000 events\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, out.String())
		}
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	chosen, err := choose("textbook,river")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range chosen {
		got = append(got, e.name)
	}
	if want := "holdfast river textbook"; strings.Join(got, " ") != want {
		t.Errorf("chose %v, want %s", got, want)
	}
	if _, err := choose("rivers"); err == nil {
		t.Error("an unknown name was accepted")
	}
}
