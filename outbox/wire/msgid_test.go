package wire_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/outbox/wire"
)

// The values were computed with another implementation of SHA-256. They must
// never change: streams remember them.
func TestMsgIDIsAContract(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ source, id, want string }{
		{"/orders/eu", "018f2b5e-7c1a-7a55-9b0e-5a3c6f2d1e90", "-P_5kzUCZerI_Wni_uVyuUvafUSWBGu6IJNAAbpZhq0"},
		{"urn:shop:Größe", "😀", "lA_H9tzG9wzBs6aZiLjQfXcTNo3kzHpiF2gC5bI7YlE"},
	} {
		if got := wire.MsgID(c.source, c.id); got != c.want {
			t.Errorf("MsgID(%q, %q) is %s, want %s", c.source, c.id, got, c.want)
		}
	}
}

// Joining source and id must not make two events one.
func TestMsgIDTellsEventsApart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[ab/%"é]{0,6}`)
		s1, i1 := text.Draw(t, "source 1"), text.Draw(t, "id 1")
		s2, i2 := text.Draw(t, "source 2"), text.Draw(t, "id 2")
		same := s1 == s2 && i1 == i2
		if got := wire.MsgID(s1, i1) == wire.MsgID(s2, i2); got != same {
			t.Fatalf("(%q, %q) and (%q, %q): equal ids %v, want %v", s1, i1, s2, i2, got, same)
		}
	})
}

func TestMsgIDIsInEveryMessage(t *testing.T) {
	t.Parallel()
	for _, mode := range []wire.Mode{wire.Binary, wire.Structured} {
		rec := order()
		msg := encode(t, wire.Config{Mode: mode}, rec)
		if got, want := msg.Header.Get("Nats-Msg-Id"), wire.MsgID(rec.Source, rec.ID); got != want {
			t.Errorf("%v: Nats-Msg-Id is %q, want %q", mode, got, want)
		}
	}
}
