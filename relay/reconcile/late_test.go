package reconcile_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/relay/reconcile"
)

// TestManyLateEvents: after a large repair every event of it stands behind later ones of its key. To
// tell why takes one look at the batches and not one for each pair of them, however old
// the statistics of the database are: the limit is there to end what would take hours.
func TestManyLateEvents(t *testing.T) {
	t.Parallel()
	const keys, each = 20, 500
	s := newSetup(t)
	for key := range keys {
		s.stage(fmt.Sprint("key-", key), each)
	}
	s.drain()
	if err := s.js.DeleteStream(t.Context(), streamName); err != nil {
		t.Fatal(err)
	}
	if _, err := s.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: streamName, Subjects: []string{"events.>"}}); err != nil {
		t.Fatal(err)
	}
	for key := range keys {
		s.stage(fmt.Sprint("key-", key), 1)
	}
	s.drain()
	r := s.reconcile(withRepair)
	if diff := cmp.Diff(&reconcile.Repair{Published: keys * each}, r.Repair); diff != "" {
		t.Fatalf("repair (-want +got):\n%s", diff)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := reconcile.Run(ctx, s.db.Pool, s.nc, reconcile.Config{Relay: s.config()})
	if err != nil {
		t.Fatal(err)
	}
	s.wants(r, counts{reconcile.Late: keys * each})

	// What nobody recorded as published on its own has no such excuse.
	s.exec("DELETE FROM outbox.outbox_batch WHERE events = 1 AND seq_first % 2 = 0")
	r = s.reconcile()
	s.wants(r, counts{reconcile.Late: r.Counts[reconcile.Late], reconcile.Disordered: keys*each - r.Counts[reconcile.Late]})
	if n := r.Counts[reconcile.Late]; n != query[int64](s, "SELECT count(*) FROM outbox.outbox_batch WHERE events = 1 AND stream_seq_first > 20") {
		t.Errorf("%d events are late", n)
	}
}
