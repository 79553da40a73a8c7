package main

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/holdfast-dev/holdfast/e2e/fault"
	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/relay"
)

// brokerOf connects to the server of a script.
func brokerOf(ts *testscript.TestScript) jetstream.JetStream {
	nc, err := nats.Connect(ts.Getenv("RELAY_NATS_URL"), relay.NATSOptions("script")...)
	ts.Check(err)
	ts.Defer(nc.Close)
	js, err := jetstream.New(nc)
	ts.Check(err)
	return js
}

// cmdNATSWeak starts a server whose user may do nothing.
func cmdNATSWeak(ts *testscript.TestScript, _ bool, _ []string) {
	nothing := &server.Permissions{Publish: &server.SubjectPermission{Deny: []string{">"}}}
	n := outboxtest.NewNATS(worldOf(ts), func(o *harness.NATSOptions) {
		o.Configure = func(s *server.Options) {
			s.Users = []*server.User{{Username: "weak", Password: "weak", Permissions: nothing}}
		}
	})
	ts.Setenv("RELAY_NATS_URL", n.URL())
	ts.Setenv("RELAY_NATS_USER", "weak")
	ts.Setenv("RELAY_NATS_PASSWORD", "weak")
}

// cmdStream makes a stream: "stream NAME SUBJECT WINDOW".
func cmdStream(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: stream NAME SUBJECT WINDOW")
	}
	window, err := time.ParseDuration(args[2])
	ts.Check(err)
	_, err = brokerOf(ts).CreateStream(worldOf(ts).Context(), jetstream.StreamConfig{Name: args[0], Subjects: []string{args[1]}, Duplicates: window})
	ts.Check(err)
}

// cmdMadeAnew has a stream deleted and made anew just before the next consumer is made on it: "madeanew NAME SUBJECT".
func cmdMadeAnew(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: madeanew NAME SUBJECT")
	}
	js, ctx := brokerOf(ts), worldOf(ts).Context()
	proxy, err := fault.NewNATSProxy(ts.Getenv("RELAY_NATS_URL"))
	ts.Check(err)
	ts.Defer(func() { _ = proxy.Close() })
	once := false
	proxy.Add(fault.NATSRule{Do: fault.Swallow(), Match: func(m *fault.NATSMessage) bool {
		if once || m.Point != fault.OnRequest || !strings.HasPrefix(m.Subject, "$JS.API.CONSUMER.CREATE."+args[0]+".") {
			return false
		}
		once = true
		err := js.DeleteStream(ctx, args[0])
		if err == nil {
			_, err = js.CreateStream(ctx, jetstream.StreamConfig{Name: args[0], Subjects: []string{args[1]}})
		}
		if err != nil {
			worldOf(ts).Errorf("make stream %s anew: %v", args[0], err)
		}
		return false // the request goes on, to the new stream
	}})
	ts.Setenv("RELAY_NATS_URL", proxy.URL())
}

// cmdDrain lets a relay publish to RELAY_STREAM and settle what waits.
func cmdDrain(ts *testscript.TestScript, _ bool, _ []string) {
	w := worldOf(ts)
	js := brokerOf(ts)
	r, err := relay.New(w.db.Pool, js.Conn(), relay.Config{Stream: ts.Getenv("RELAY_STREAM"), Lease: 10 * time.Second,
		PollMax: 10 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	ts.Check(err)
	ctx, stop := context.WithCancel(w.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	until(ts, "everything is drained", func() bool {
		var drained bool
		err := w.db.Pool.QueryRow(w.Context(), `SELECT NOT EXISTS (SELECT FROM outbox.event_outbox e JOIN outbox.outbox_lane l ON l.lane = e.lane
			WHERE l.target IS NOT NULL OR NOT pg_visible_in_snapshot(e.tx, l.drained))`).Scan(&drained)
		ts.Check(err)
		return drained
	})
	stop()
	ts.Check(<-ended)
}

// cmdLose deletes messages of RELAY_STREAM by their sequences, from the first to the last: "lose 3 7".
func cmdLose(ts *testscript.TestScript, _ bool, args []string) {
	ctx := worldOf(ts).Context()
	stream, err := brokerOf(ts).Stream(ctx, ts.Getenv("RELAY_STREAM"))
	ts.Check(err)
	first, err := strconv.ParseUint(args[0], 10, 64)
	ts.Check(err)
	last, err := strconv.ParseUint(args[1], 10, 64)
	ts.Check(err)
	for seq := first; seq <= last; seq++ {
		ts.Check(stream.DeleteMsg(ctx, seq))
	}
}

// cmdForgets waits until RELAY_STREAM remembers no id any more.
func cmdForgets(ts *testscript.TestScript, _ bool, _ []string) {
	stream, err := brokerOf(ts).Stream(worldOf(ts).Context(), ts.Getenv("RELAY_STREAM"))
	ts.Check(err)
	info := stream.CachedInfo()
	until(ts, "the dedup window is over", func() bool { return time.Since(info.State.LastTime) > 3*info.Config.Duplicates })
}

// cmdMessages wants RELAY_STREAM, or another one, to have so many messages: "messages N [STREAM]".
func cmdMessages(ts *testscript.TestScript, _ bool, args []string) {
	name := ts.Getenv("RELAY_STREAM")
	if len(args) == 2 {
		name = args[1]
	}
	stream, err := brokerOf(ts).Stream(worldOf(ts).Context(), name)
	ts.Check(err)
	want, err := strconv.ParseUint(args[0], 10, 64)
	ts.Check(err)
	if n := stream.CachedInfo().State.Msgs; n != want {
		ts.Fatalf("stream %s has %d messages, want %d", name, n, want)
	}
}

// until polls a condition.
func until(ts *testscript.TestScript, what string, ok func() bool) {
	for deadline := time.Now().Add(patience); !ok(); {
		if time.Now().After(deadline) {
			ts.Fatalf("not within %s: %s", patience, what)
		}
		select {
		case <-worldOf(ts).Context().Done():
			ts.Fatalf("test ended before: %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
