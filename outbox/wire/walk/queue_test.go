package walk_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/e2e/fault"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/outbox/wire/walk"
)

// TestWorkQueueIsRead, which has no second consumer, and nothing is taken away from its worker.
func TestWorkQueueIsRead(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1, outboxtest.NewNATS(t).URL())
	worker := b.remake(jetstream.WorkQueuePolicy, 1)
	b.publish(0, 1000)
	b.wants(b.walk(t.Context(), b.info(), walk.Config{}, nil), 1, 1000)
	b.wants(b.walk(t.Context(), b.info(), walk.Config{From: 500, HeadersOnly: true}, nil), 500, 1000)
	b.wants(b.walk(t.Context(), b.info(), walk.Config{}, func() { b.publish(1000, 1010) }), 1, 1000)
	b.wants(b.walk(t.Context(), b.info(), walk.Config{}, func() { b.delete(901, 1010) }), 1, 900)
	if info, err := worker.Info(t.Context()); err != nil || info.NumPending != 900 {
		t.Errorf("the worker has %+v, %v", info, err)
	}
	r := b.walk(t.Context(), b.info(), walk.Config{}, func() {
		if err := b.js.DeleteStream(t.Context(), streamName); err != nil {
			t.Error(err)
		}
	})
	if !errors.Is(r.err, jetstream.ErrStreamNotFound) || len(r.seqs) == 900 {
		t.Errorf("%d messages: %v", len(r.seqs), r.err)
	}
}

// TestReplicatedStreamThatConsumersEmpty: a broker wants consumers there that have as many replicas as the stream, before
// it asks anything else of them.
func TestReplicatedStreamThatConsumersEmpty(t *testing.T) {
	t.Parallel()
	const many = 300
	cluster, err := fault.StartCluster(t.Context(), 3, fault.NodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Errorf("close the broker: %v", err)
		}
	})
	b := newBench(t, 3, cluster.URLs()...)
	for _, retention := range []jetstream.RetentionPolicy{jetstream.WorkQueuePolicy, jetstream.InterestPolicy} {
		worker := b.remake(retention, 3)
		b.publish(0, many)
		b.wants(b.walk(t.Context(), b.info(), walk.Config{}, nil), 1, many)
		b.wants(b.walk(t.Context(), b.info(), walk.Config{From: 100, HeadersOnly: true}, func() { b.publish(many, many+10) }), 100, many)
		b.onlyTheWorker()
		b.eventually("the worker has all of "+retention.String(), func(ctx context.Context) error {
			info, err := worker.Info(ctx)
			if err == nil && info.NumPending != many+10 {
				err = fmt.Errorf("%d are pending", info.NumPending)
			}
			return err
		})
	}
}
