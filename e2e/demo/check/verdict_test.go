package check_test

import (
	"crypto/sha256"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-dev/holdfast/e2e/demo/check"
	"github.com/holdfast-dev/holdfast/e2e/history"
)

// entry is the nth event of a key, committed with a fate.
func entry(key string, version int, fate check.Fate) check.Entry {
	id := key + "-" + string(rune('0'+version))
	return check.Entry{
		Event: check.Event{Name: history.Name{Source: "/test", ID: id}, Type: "thing.changed", Key: key, Version: version, Digest: sha256.Sum256([]byte(id))},
		Fate:  fate,
	}
}

// sound is a ledger with one entry of each kind.
func sound() []check.Entry {
	return []check.Entry{
		entry("a", 1, check.Free), entry("a", 2, check.Free), entry("a", 3, check.Free),
		entry("b", 1, check.Released), entry("b", 2, check.Released),
		entry("c", 1, check.Dropped),
		entry("d", 1, check.Held),
	}
}

// message is what a relay makes of an entry.
func message(e check.Entry, sequence int) check.Message {
	return check.Message{Event: e.Event, MessageID: history.MessageID(e.Name), Sequence: uint64(sequence)}
}

// published is what a faultless relay makes of a ledger.
func published(ledger []check.Entry) []check.Message {
	var messages []check.Message
	for _, e := range ledger {
		if e.Fate == check.Free || e.Fate == check.Released {
			messages = append(messages, message(e, len(messages)+1))
		}
	}
	return messages
}

func TestCompareFindsNothingWrongWithASoundHistory(t *testing.T) {
	t.Parallel()
	got := check.Compare(sound(), published(sound()))
	want := &check.Verdict{Committed: 7, Published: 5, Held: 1, Released: 2, Dropped: 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("verdict (-want +got):\n%s", diff)
	}
	if !got.OK() {
		t.Error("not ok")
	}
}

// wrong are histories with one fault each; damage gets the messages of a sound one.
var wrong = []struct {
	name    string
	damage  func(messages []check.Message) []check.Message
	want    check.Verdict // what differs from the sound verdict
	allowed bool
}{
	{
		name:   "an event is missing",
		damage: func(m []check.Message) []check.Message { return slices.Delete(m, 1, 2) },
		want:   check.Verdict{Published: 4, Lost: 1},
	},
	{
		name:   "the last event is missing",
		damage: func(m []check.Message) []check.Message { return m[:len(m)-1] },
		want:   check.Verdict{Published: 4, Lost: 1},
	},
	{
		name:   "nothing arrived",
		damage: func([]check.Message) []check.Message { return nil },
		want:   check.Verdict{Lost: 5},
	},
	{
		name:   "a transaction that rolled back is in the stream",
		damage: add(entry("a", 4, check.Free)),
		want:   check.Verdict{Published: 5, Phantom: 1},
	},
	{
		name:   "a cancelled event is in the stream",
		damage: add(entry("c", 1, check.Dropped)),
		want:   check.Verdict{Published: 6, DroppedPublished: 1},
	},
	{
		name:   "an undecided event is in the stream",
		damage: add(entry("d", 1, check.Held)),
		want:   check.Verdict{Published: 6, HeldPublished: 1},
	},
	{
		name:   "two events of a key change places",
		damage: func(m []check.Message) []check.Message { m[1], m[2] = m[2], m[1]; return m },
		want:   check.Verdict{Published: 5, OrderViolations: 1},
	},
	{
		name:   "the first of three comes last",
		damage: func(m []check.Message) []check.Message { return append(m[1:], m[0]) },
		want:   check.Verdict{Published: 5, OrderViolations: 1},
	},
	{
		name:   "a payload has another byte",
		damage: func(m []check.Message) []check.Message { m[0].Digest[0]++; return m },
		want:   check.Verdict{Published: 5, BodyMismatches: 1},
	},
	{
		name:   "an attribute has another value",
		damage: func(m []check.Message) []check.Message { m[0].Type = "thing.erased"; return m },
		want:   check.Verdict{Published: 5, InvalidEvents: 1},
	},
	{
		name:   "the ordering key is another",
		damage: func(m []check.Message) []check.Message { m[0].Key = ""; return m },
		want:   check.Verdict{Published: 5, InvalidEvents: 1},
	},
	{
		name:   "the message id is another",
		damage: func(m []check.Message) []check.Message { m[0].MessageID = "new"; return m },
		want:   check.Verdict{Published: 5, InvalidEvents: 1},
	},
	{
		name: "a message is no event",
		damage: func(m []check.Message) []check.Message {
			return append(m, check.Message{Sequence: 6, Fault: "is no CloudEvent"})
		},
		want: check.Verdict{Published: 5, InvalidEvents: 1},
	},
	{
		name:    "an event is there twice",
		damage:  func(m []check.Message) []check.Message { return append(m, m[0]) },
		want:    check.Verdict{Published: 5, Duplicates: 1},
		allowed: true,
	},
}

func add(e check.Entry) func([]check.Message) []check.Message {
	return func(m []check.Message) []check.Message {
		return append(m, message(e, len(m)+1))
	}
}

// TestCompareCountsEachFault is the proof that the demo can fail.
func TestCompareCountsEachFault(t *testing.T) {
	t.Parallel()
	for _, c := range wrong {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := check.Compare(sound(), c.damage(published(sound())))
			c.want.Committed, c.want.Held, c.want.Released, c.want.Dropped = 7, 1, 2, 1
			if diff := cmp.Diff(&c.want, got, cmpopts.IgnoreFields(check.Verdict{}, "Findings")); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
			if got.OK() != c.allowed {
				t.Errorf("ok is %v", got.OK())
			}
			if len(got.Findings) == 0 || strings.Contains(strings.Join(got.Findings, ""), "%!") {
				t.Errorf("findings: %q", got.Findings)
			}
		})
	}
}

// All faults are counted, and only the first ones described.
func TestCompareBoundsFindings(t *testing.T) {
	t.Parallel()
	ledger := make([]check.Entry, 0, 1000)
	for i := range cap(ledger) {
		ledger = append(ledger, entry("key", i+1, check.Free))
		ledger[i].ID += "-" + strings.Repeat("x", i)
	}
	got := check.Compare(ledger, nil)
	if got.Lost != 1000 || len(got.Findings) != 10 {
		t.Errorf("%d lost, %d findings; want 1000 and 10", got.Lost, len(got.Findings))
	}
}
