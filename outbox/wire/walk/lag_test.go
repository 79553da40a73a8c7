package walk_test

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/e2e/fault"
	"github.com/holdfast-dev/holdfast/outbox/wire/walk"
)

const (
	// lagLimit bounds how long a test tries until a consumer lies on the replica that lags: the broker chooses where.
	lagLimit = 5 * time.Minute
	// lagging is how many messages a replica misses each time. It gets them one by one.
	lagging = 10_000
)

// TestReplicaThatLags: the consumer may lie on a replica that has not got all of the stream yet. That nothing is
// pending there is no end, and what it has below the first sequence is not handed on.
func TestReplicaThatLags(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from    uint64 // before the end of the stream
		deleted uint64 // of its end
	}{
		"from the first":         {from: 0},
		"from what it lacks":     {from: lagging / 2},
		"the last ones are gone": {from: lagging / 2, deleted: 10}, // only the leader knows the end
	} {
		t.Run(name, func(t *testing.T) {
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
			b := newBench(t, 3, cluster.URLs()...)
			b.publish(0, 100)
			end, next := uint64(100), 100 // of the stream
			var node *fault.Node
			seen := false
			for deadline := time.Now().Add(lagLimit); !seen; {
				if time.Now().After(deadline) {
					t.Fatalf("within %s no consumer lay on a replica that lagged", lagLimit)
				}
				current := true
				if node != nil {
					if current, err = cluster.Current(t.Context(), streamName, node); err != nil {
						t.Fatal(err)
					}
				}
				if current {
					node, err = cluster.Lag(t.Context(), streamName, func() {
						b.publish(next, next+lagging)
						next, end = next+lagging, b.info().State.LastSeq
						if c.deleted > 0 {
							b.delete(end-c.deleted+1, end)
						}
					})
					if err != nil {
						t.Fatal(err)
					}
				}
				seen = b.readWatched(cluster, node, c.from, end, c.deleted)
			}
		})
	}
}

// readWatched reads and demands all of it, and reports whether a consumer lay on a node while it had not got all.
func (b *bench) readWatched(cluster *fault.Cluster, node *fault.Node, from, end, deleted uint64) bool {
	b.t.Helper()
	watch, err := cluster.WatchPlacements(b.t.Context(), streamName)
	if err != nil {
		b.t.Fatal(err)
	}
	defer watch.Close()
	cfg := walk.Config{HeadersOnly: true}
	if from > 0 {
		cfg.From = end - from
	}
	r := b.walk(b.t.Context(), b.info(), cfg, nil)
	// A replica that lags may have a message of which it does not know yet that it was deleted.
	r.seqs = slices.DeleteFunc(r.seqs, func(seq uint64) bool { return seq > end-deleted })
	b.wants(r, max(cfg.From, 1), end-deleted)
	return watch.Behind(node, end-deleted)
}
