package main

import (
	"bytes"
	"context"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// natsMessage is what the peers send that have no form of their own.
func natsMessage(id string, data []byte) *nats.Msg {
	return &nats.Msg{Subject: subject, Header: nats.Header{nats.MsgIdHdr: []string{id}}, Data: data}
}

// idOf returns the event's id: Holdfast's message id names the source too.
func idOf(m jetstream.Msg) string {
	if id := m.Headers().Get("ce-id"); id != "" {
		return id
	}
	return m.Headers().Get(nats.MsgIdHdr)
}

// freshStream takes the stream of the run before away and makes one with another name: one that is made
// again under its name right after it was deleted may come with its old messages.
func (r *rig) freshStream(ctx context.Context) error {
	if r.stream != "" {
		if err := r.js.DeleteStream(ctx, r.stream); err != nil {
			return fmt.Errorf("delete stream: %w", err)
		}
	}
	r.streams++
	r.stream = fmt.Sprintf("PEERS_%d", r.streams)
	_, err := r.js.CreateStream(ctx, jetstream.StreamConfig{
		Name: r.stream, Subjects: []string{"events.>"}, Storage: jetstream.FileStorage, AllowBatchPublish: true,
	})
	return err
}

// stored counts the messages of the stream.
func (r *rig) stored(ctx context.Context) (int, error) {
	stream, err := r.js.Stream(ctx, r.stream)
	if err != nil {
		return 0, err
	}
	return int(stream.CachedInfo().State.Msgs), nil
}

// proof reads the stream and fails unless every event is there once with its bytes. It returns how
// many came after a later event of their key.
func (r *rig) proof(ctx context.Context, events []item) (disorder int, err error) {
	n, err := r.stored(ctx)
	if err != nil {
		return 0, err
	}
	if n != len(events) {
		return 0, fmt.Errorf("%d messages in the stream for %d events", n, len(events))
	}
	place := make(map[string]int, len(events)) // of the ids that have not come yet
	for i, it := range events {
		place[it.id] = i
	}
	consumer, err := r.js.OrderedConsumer(ctx, r.stream, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return 0, err
	}
	messages, err := consumer.Messages()
	if err != nil {
		return 0, err
	}
	defer messages.Stop()
	last := map[string]int{}
	for range events {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return 0, err
		}
		i, expected := place[idOf(m)]
		if !expected {
			return 0, fmt.Errorf("event %q came twice, or was never staged", idOf(m))
		}
		if !bytes.Equal(m.Data(), events[i].data) {
			return 0, fmt.Errorf("event %q came with other bytes", idOf(m))
		}
		delete(place, events[i].id)
		if before, some := last[events[i].key]; some && i < before {
			disorder++
		}
		last[events[i].key] = max(last[events[i].key], i)
	}
	return disorder, nil
}
