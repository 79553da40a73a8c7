package fault

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRules(t *testing.T) {
	t.Parallel()
	var r rules[int, string]
	even := r.add(Rule[int, string]{Match: func(n int) bool { return n%2 == 0 }, After: 1, Times: 2, Do: "even"})
	all := r.add(Rule[int, string]{After: 2, Do: "all"})
	act := func(n int) string {
		action, _ := r.match(n)
		return action
	}
	var got []string
	for _, n := range []int{2, 4, 1, 6, 8, 10, 1} {
		got = append(got, act(n))
	}
	// 2 passes both; 4 is the second even one; 1 passes again; 6 is the last even
	// one; everything after it is the other rule's.
	want := []string{"", "even", "", "even", "all", "all", "all"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
	if even.Hits() != 2 || all.Hits() != 3 {
		t.Errorf("hits %d and %d, want 2 and 3", even.Hits(), all.Hits())
	}
	select {
	case <-all.Hit():
	default:
		t.Error("the channel of the first hit is open")
	}
	all.Remove()
	all.Remove()
	if got := act(1); got != "" {
		t.Errorf("a rule that was removed did %q", got)
	}
}

func TestReadFrame(t *testing.T) {
	t.Parallel()
	const wire = "INFO {\"a\":1}\r\n" +
		"PUB a.b 3\r\nx\r\n\r\n" +
		"pub a.b reply 0\r\n\r\n" +
		"HPUB a.b reply 34 36\r\nNATS/1.0\r\nNats-Msg-Id:  an id \r\n\r\nhi\r\n" +
		"MSG a.b 7 2\r\nhi\r\nMSG a.b 7 reply 2\r\nhi\r\nHMSG a.b 7 12 12\r\nNATS/1.0\r\n\r\n\r\n" +
		"SUB a.* queue 9\r\nUNSUB 9 5\r\nPING\r\n+OK\r\n-ERR 'no'\r\n\r\n"
	type brief struct{ op, subject, reply, sid, id, payload string }
	var got []brief
	var out bytes.Buffer
	for r := bufio.NewReader(strings.NewReader(wire)); ; {
		f, err := readFrame(r)
		if err != nil {
			break
		}
		b := brief{op: f.op, subject: f.subject, reply: f.reply, sid: f.sid}
		if f.body != nil {
			b.id, b.payload = f.headerValue("Nats-Msg-Id"), string(f.body[f.header:])
		}
		got = append(got, b)
		out.Write(f.bytes())
	}
	want := []brief{
		{op: "INFO"},
		{op: "PUB", subject: "a.b", payload: "x\r\n"},
		{op: "PUB", subject: "a.b", reply: "reply"},
		{op: "HPUB", subject: "a.b", reply: "reply", id: "an id", payload: "hi"},
		{op: "MSG", subject: "a.b", sid: "7", payload: "hi"},
		{op: "MSG", subject: "a.b", sid: "7", reply: "reply", payload: "hi"},
		{op: "HMSG", subject: "a.b", sid: "7"},
		{op: "SUB", subject: "a.*", sid: "9"},
		{op: "UNSUB", sid: "9"},
		{op: "PING"}, {op: "+OK"}, {op: "-ERR"}, {},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(brief{})); diff != "" {
		t.Errorf("frames (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wire, out.String()); diff != "" {
		t.Errorf("the bytes changed (-want +got):\n%s", diff)
	}
}

func TestReadFrameRefusesWhatIsNoNATS(t *testing.T) {
	t.Parallel()
	for _, wire := range []string{
		"PUB a\r\n", "PUB a x\r\n", "PUB a b c 3\r\n", "HPUB a 5 3\r\nxxx\r\n", "MSG a 3\r\n", "PUB a -1\r\n", "PUB a 99999999999\r\n", "SUB a\r\n", "UNSUB\r\n",
	} {
		if f, err := readFrame(bufio.NewReader(strings.NewReader(wire))); err == nil {
			t.Errorf("%q: read %+v", wire, f)
		}
	}
}

func TestSubjectMatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, subject string
		want             bool
	}{
		{"a.b", "a.b", true}, {"a.*", "a.b", true}, {"a.>", "a.b.c", true}, {"*.b", "a.b", true},
		{"a.b", "a", false}, {"a", "a.b", false}, {"a.*", "a.b.c", false}, {"a.*.c", "a.b.d", false},
	} {
		if got := subjectMatches(c.pattern, c.subject); got != c.want {
			t.Errorf("%s gets %s: %v", c.pattern, c.subject, got)
		}
	}
}
