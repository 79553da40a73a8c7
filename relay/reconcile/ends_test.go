package reconcile_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/outbox/wire/walk"
	"github.com/holdfast-dev/holdfast/relay/reconcile"
)

// TestComparisonEnds also when the stream is emptied, deleted or made anew while it is read. What could not be
// read to its end gives no verdict.
func TestComparisonEnds(t *testing.T) {
	t.Parallel()
	remove := func(s *setup) error { return s.js.DeleteStream(s.t.Context(), streamName) }
	for _, c := range []struct {
		name string
		then func(s *setup) error
		is   []error // any of them
	}{
		{"emptied", func(s *setup) error {
			stream, err := s.js.Stream(s.t.Context(), streamName)
			if err != nil {
				return err
			}
			return stream.Purge(s.t.Context())
		}, []error{walk.ErrRemoved}},
		{"deleted", remove, []error{jetstream.ErrStreamNotFound}},
		{"made anew", func(s *setup) error {
			if err := remove(s); err != nil {
				return err
			}
			_, err := s.js.CreateStream(s.t.Context(), jetstream.StreamConfig{Name: streamName, Subjects: []string{"events.>"}})
			return err
		}, []error{walk.ErrChanged, jetstream.ErrStreamNotFound}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t)
			s.drain()
			const many = 6000 // more than the client asks for at once
			body := make([]byte, 1000)
			for range many {
				if _, err := s.js.PublishAsync("events.x", body, jetstream.WithStallWait(time.Minute)); err != nil {
					t.Fatal(err)
				}
			}
			<-s.js.PublishAsyncComplete()

			began := make(chan *nats.Msg, 16)
			other, err := nats.Connect(s.nats.URL())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(other.Close)
			if _, err = other.ChanSubscribe("$JS.EVENT.ADVISORY.CONSUMER.CREATED."+streamName+".*", began); err == nil {
				err = other.Flush()
			}
			if err != nil {
				t.Fatal(err)
			}
			acted := make(chan error, 1)
			go func() {
				<-began
				acted <- c.then(s)
			}()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			ended := make(chan struct{})
			var report *reconcile.Report
			go func() {
				defer close(ended)
				report, err = reconcile.Run(ctx, s.db.Pool, s.nc, reconcile.Config{Relay: s.config()})
			}()
			select {
			case <-ended:
			case <-time.After(time.Minute + 10*time.Second):
				t.Fatal("the comparison does not end")
			}
			if err := <-acted; err != nil {
				t.Fatal(err)
			}
			var end *walk.EndError
			if !errors.As(err, &end) || !errors.Is(err, c.is[0]) && !errors.Is(err, c.is[len(c.is)-1]) {
				t.Errorf("%+v: %v", report, err)
			}
		})
	}
}
