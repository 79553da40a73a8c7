package relay

import (
	"context"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/e2e/fault"
	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

const (
	lookBackMessages = 20_000
	// lagLimit bounds how long a test tries until a consumer lies on the replica that lags: the broker chooses where.
	lagLimit = 5 * time.Minute
)

// lookBackBench is a stream that a relay looks back in.
type lookBackBench struct {
	t     *testing.T
	relay *Relay
	admin jetstream.JetStream // of another connection than the relay's
	want  *wanted
}

func newLookBackBench(t *testing.T, cfg jetstream.StreamConfig, urls ...string) *lookBackBench {
	t.Helper()
	options := NATSOptions("relay")
	conn, err := nats.Connect(strings.Join(urls, ","), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	b := &lookBackBench{t: t, want: newWanted()}
	if b.relay, err = New(nil, conn, Config{Stream: "EVENTS", Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}); err != nil {
		t.Fatal(err)
	}
	other, err := nats.Connect(strings.Join(urls, ","), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(other.Close)
	if b.admin, err = jetstream.New(other, jetstream.WithPublishAsyncMaxPending(1000)); err != nil {
		t.Fatal(err)
	}
	cfg.Name, cfg.Subjects = "EVENTS", []string{"events.>"}
	for deadline := time.Now().Add(generous); ; {
		_, err := b.admin.CreateOrUpdateStream(t.Context(), cfg)
		if err == nil {
			return b
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

func idAt(n int) string { return "id-" + strconv.Itoa(n) }

// publish stores messages whose ids have these numbers, and makes the look-back want them.
func (b *lookBackBench) publish(from, to int) {
	b.t.Helper()
	acks := map[int]jetstream.PubAckFuture{}
	for n := from; n < to; n++ {
		ack, err := b.admin.PublishAsync("events.x", nil, jetstream.WithMsgID(idAt(n)), jetstream.WithStallWait(generous))
		if err != nil {
			b.t.Fatal(err)
		}
		acks[n] = ack
		b.want.add(idAt(n))
	}
	for n, ack := range acks {
		select {
		case <-ack.Ok():
		case <-ack.Err():
			if _, err := b.admin.Publish(b.t.Context(), "events.x", nil, jetstream.WithMsgID(idAt(n))); err != nil {
				b.t.Fatal(err)
			}
		case <-b.t.Context().Done():
			b.t.Fatal("the messages were not stored")
		}
	}
	b.want.seal()
}

// onceItReads does something as soon as the broker has a new consumer. done waits for it.
func (b *lookBackBench) onceItReads(then func() error) (done func()) {
	b.t.Helper()
	began := make(chan *nats.Msg, 16)
	sub, err := b.admin.Conn().ChanSubscribe("$JS.EVENT.ADVISORY.CONSUMER.CREATED.EVENTS.*", began)
	if err == nil {
		err = b.admin.Conn().Flush()
	}
	if err != nil {
		b.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		select {
		case <-began:
			ended <- then()
		case <-b.t.Context().Done():
			ended <- b.t.Context().Err()
		}
		_ = sub.Unsubscribe()
	}()
	return func() {
		if err := <-ended; err != nil {
			b.t.Errorf("what happens while it reads: %v", err)
		}
	}
}

// look looks back from the first message, and demands that it ends.
func (b *lookBackBench) look(ctx context.Context) (ids map[string]uint64, err error) {
	b.t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ids, err = b.relay.storedSince(ctx, 0, b.want)
	}()
	select {
	case <-ended:
		return ids, err
	case <-time.After(generous):
		b.t.Fatal("the look-back does not end")
		return nil, nil
	}
}

// has demands the ids with these numbers.
func (b *lookBackBench) has(ids map[string]uint64, from, to int) {
	b.t.Helper()
	missing := 0
	for n := from; n < to; n++ {
		if ids[idAt(n)] == 0 {
			missing++
		}
	}
	if missing > 0 {
		b.t.Errorf("%d of %d ids that the stream has were not found", missing, to-from)
	}
}

// TestLookBackFindsWhatIsLeft: the last messages were deleted, so that the last sequence never comes.
func TestLookBackFindsWhatIsLeft(t *testing.T) {
	t.Parallel()
	b := newLookBackBench(t, jetstream.StreamConfig{}, outboxtest.NewNATS(t).URL())
	b.publish(0, 100)
	stream, err := b.admin.Stream(t.Context(), "EVENTS")
	if err != nil {
		t.Fatal(err)
	}
	for seq := uint64(91); seq <= 100; seq++ {
		if err := stream.DeleteMsg(t.Context(), seq); err != nil {
			t.Fatal(err)
		}
	}
	ids, err := b.look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if b.has(ids, 0, 90); len(ids) != 90 {
		t.Errorf("%d ids were found, want 90", len(ids))
	}
}

// TestLookBackInAWorkQueue, which has no consumer that only reads: a lane must not wait until its queue is empty.
func TestLookBackInAWorkQueue(t *testing.T) {
	t.Parallel()
	b := newLookBackBench(t, jetstream.StreamConfig{Retention: jetstream.WorkQueuePolicy}, outboxtest.NewNATS(t).URL())
	if _, err := b.admin.CreateConsumer(t.Context(), "EVENTS", jetstream.ConsumerConfig{Durable: "worker", AckPolicy: jetstream.AckExplicitPolicy}); err != nil {
		t.Fatal(err)
	}
	b.publish(0, 1000)
	ids, err := b.look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.has(ids, 0, 1000)
}

// TestLookBackNeedsTheseRights, which relay check and docs/operations.md name, and no others.
func TestLookBackNeedsTheseRights(t *testing.T) {
	t.Parallel()
	rights := []string{"$JS.API.INFO", "$JS.API.STREAM.INFO.EVENTS", "$JS.API.CONSUMER.CREATE.EVENTS.*", "$JS.API.CONSUMER.INFO.EVENTS.*",
		"$JS.API.CONSUMER.MSG.NEXT.EVENTS.*", "$JS.API.CONSUMER.DELETE.EVENTS.*", "$JS.API.STREAM.MSG.GET.EVENTS"}
	node := outboxtest.NewNATS(t, func(o *harness.NATSOptions) {
		o.Configure = func(o *server.Options) {
			o.Users = []*server.User{{Username: "admin", Password: "p"}, {Username: "relay", Password: "p", Permissions: &server.Permissions{
				Publish: &server.SubjectPermission{Allow: rights}, Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>"}},
			}}}
		}
	})
	for _, retention := range []jetstream.RetentionPolicy{jetstream.LimitsPolicy, jetstream.InterestPolicy, jetstream.WorkQueuePolicy} {
		b := newLookBackBench(t, jetstream.StreamConfig{Retention: retention}, strings.Replace(node.URL(), "nats://", "nats://admin:p@", 1))
		if _, err := b.admin.CreateConsumer(t.Context(), "EVENTS", jetstream.ConsumerConfig{Durable: "worker", AckPolicy: jetstream.AckExplicitPolicy}); err != nil {
			t.Fatal(err)
		}
		b.publish(0, 1000)
		refused := make(chan error, 100)
		conn, err := nats.Connect(node.URL(), nats.UserInfo("relay", "p"), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			refused <- err
		}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(conn.Close)
		if b.relay, err = New(nil, conn, Config{Stream: "EVENTS", Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}); err != nil {
			t.Fatal(err)
		}
		ids, err := b.look(t.Context())
		if err != nil {
			t.Errorf("%s: %v", retention, err)
		}
		b.has(ids, 0, 1000)
		for len(refused) > 0 {
			t.Errorf("%s: %v", retention, <-refused)
		}
		if err := b.admin.DeleteStream(t.Context(), "EVENTS"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLookBackEnds whatever happens to the stream while it is read: a lane must not stand still.
func TestLookBackEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		fails bool
		then  func(ctx context.Context, b *lookBackBench, server *harness.NATS, cancel func()) error
	}{
		{"purged", false, func(ctx context.Context, b *lookBackBench, _ *harness.NATS, _ func()) error {
			stream, err := b.admin.Stream(ctx, "EVENTS")
			if err != nil {
				return err
			}
			return stream.Purge(ctx)
		}},
		{"deleted", true, func(ctx context.Context, b *lookBackBench, _ *harness.NATS, _ func()) error {
			return b.admin.DeleteStream(ctx, "EVENTS")
		}},
		{"made anew", true, func(ctx context.Context, b *lookBackBench, _ *harness.NATS, _ func()) error {
			if err := b.admin.DeleteStream(ctx, "EVENTS"); err != nil {
				return err
			}
			_, err := b.admin.CreateStream(ctx, jetstream.StreamConfig{Name: "EVENTS", Subjects: []string{"events.>"}})
			return err
		}},
		{"the lane is lost while the broker is away", true, func(_ context.Context, _ *lookBackBench, server *harness.NATS, cancel func()) error {
			server.Stop()
			cancel()
			return nil
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := outboxtest.NewNATS(t)
			b := newLookBackBench(t, jetstream.StreamConfig{}, server.URL())
			b.publish(0, lookBackMessages)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := b.onceItReads(func() error { return c.then(t.Context(), b, server, cancel) })
			ids, err := b.look(ctx)
			done()
			if (err != nil) != c.fails || len(ids) == lookBackMessages {
				t.Errorf("%d ids, error %v", len(ids), err)
			}
		})
	}
}

// TestLookBackGoesOnAfterARestart of the broker, which loses the consumer that it reads from.
func TestLookBackGoesOnAfterARestart(t *testing.T) {
	t.Parallel()
	server := outboxtest.NewNATS(t)
	b := newLookBackBench(t, jetstream.StreamConfig{}, server.URL())
	b.publish(0, lookBackMessages)
	done := b.onceItReads(func() error {
		server.Stop()
		return server.Start()
	})
	ids, err := b.look(t.Context())
	done()
	if err != nil {
		t.Fatal(err)
	}
	b.has(ids, 0, lookBackMessages)
}

// TestLookBackAtAReplicaThatLags: the consumer that it reads from may lie on a replica that has not got all of the
// stream yet. Nothing is pending there, and that is no end: what was overlooked would be published again.
func TestLookBackAtAReplicaThatLags(t *testing.T) {
	t.Parallel()
	cluster, err := fault.StartCluster(t.Context(), 3, fault.NodeOptions{CatchUpBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Errorf("close the broker: %v", err)
		}
	})
	b := newLookBackBench(t, jetstream.StreamConfig{Replicas: 3}, cluster.URLs()...)
	b.publish(0, 100)
	next := 100
	var node *fault.Node
	for deadline, seen := time.Now().Add(lagLimit), false; !seen; {
		if time.Now().After(deadline) {
			t.Fatalf("within %s no consumer lay on a replica that lagged", lagLimit)
		}
		current := true
		if node != nil {
			if current, err = cluster.Current(t.Context(), "EVENTS", node); err != nil {
				t.Fatal(err)
			}
		}
		if current {
			if node, err = cluster.Lag(t.Context(), "EVENTS", func() {
				b.publish(next, next+lookBackMessages)
				next += lookBackMessages
			}); err != nil {
				t.Fatal(err)
			}
		}
		seen = b.lookWatched(cluster, node, next)
	}
}

// lookWatched looks back, demands all ids, and reports whether a consumer lay on a node while it had not got all.
func (b *lookBackBench) lookWatched(cluster *fault.Cluster, node *fault.Node, end int) bool {
	b.t.Helper()
	watch, err := cluster.WatchPlacements(b.t.Context(), "EVENTS")
	if err != nil {
		b.t.Fatal(err)
	}
	defer watch.Close()
	ids, err := b.look(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	b.has(ids, 0, end)
	return watch.Behind(node, uint64(end))
}
