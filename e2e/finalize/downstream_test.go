package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/relay"
)

// heard is an event as a consumer saw it.
type heard struct{ id, source, kind, subject string }

// downstream is everybody who reads the events: a relay for each outbox, a stream that keeps all, and a
// reader that asks at once whether it may know what it reads. Safe for concurrent use.
type downstream struct {
	s *stack

	mu    sync.Mutex
	all   []heard
	wrong []string
}

// listen starts the relays and the reader. What they must never see fails the test at its end.
func (s *stack) listen() *stack {
	s.t.Helper()
	d := &downstream{s: s}
	s.heard = d
	server := outboxtest.NewNATS(s.t)
	js := outboxtest.NewStream(s.t, server.URL(), "EVENTS", "events.>")
	consumer, err := js.OrderedConsumer(s.t.Context(), "EVENTS", jetstream.OrderedConsumerConfig{})
	if err != nil {
		s.t.Fatal(err)
	}
	reading, err := consumer.Consume(d.read)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		reading.Stop()
		<-reading.Closed()
	})
	s.relay(s.intake.URL, server.URL())
	s.relay(s.registry.URL, server.URL())
	return s
}

// relay drains a database until the test ends.
func (s *stack) relay(database, broker string) {
	s.t.Helper()
	config, err := relay.PoolConfig(database, 2)
	if err != nil {
		s.t.Fatal(err)
	}
	pool, err := pgxpool.NewWithConfig(s.t.Context(), config)
	if err != nil {
		s.t.Fatal(err)
	}
	nc, err := nats.Connect(broker, relay.NATSOptions("finalize")...)
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := relay.New(pool, nc, relay.Config{Stream: "EVENTS", Workers: 2, PollMax: 20 * time.Millisecond, Logger: s.log.logger()})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	s.t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			s.t.Errorf("relay: %v", err)
		}
		nc.Close()
		pool.Close()
	})
}

func (d *downstream) read(m jetstream.Msg) {
	h := heard{m.Headers().Get("ce-id"), m.Headers().Get("ce-source"), m.Headers().Get("ce-type"), m.Headers().Get("ce-subject")}
	problem := d.judge(h)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, h)
	if problem != "" {
		d.wrong = append(d.wrong, fmt.Sprintf("%+v: %s", h, problem))
	}
}

// judge says what is wrong with knowing this event now.
func (d *downstream) judge(h heard) string {
	operation, generation, err := d.originOf(h)
	if err != nil {
		return err.Error()
	}
	if operation == uuid.Nil {
		return "" // an ordinary write
	}
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	var filed, ours bool
	err = d.s.intake.Pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM application WHERE id = $1),
		coalesce((SELECT o.state = 'completed' AND ($2 = 0 OR o.generation = $2) FROM outbox.saga_operation o WHERE o.operation_id = $1), true)`,
		operation, generation).Scan(&filed, &ours)
	switch {
	case err != nil:
		return err.Error()
	case !filed || !ours:
		return "its operation is not completed"
	}
	return ""
}

// originOf returns the operation and generation that an event was staged in; none for an ordinary one.
func (d *downstream) originOf(h heard) (operation uuid.UUID, generation int, err error) {
	if h.source == "/intake" {
		operation, err = uuid.Parse(h.subject)
		return operation, 0, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	var of *uuid.UUID
	var n *int
	err = d.s.registry.Pool.QueryRow(ctx, `SELECT hold_operation_id, hold_generation FROM outbox.event_outbox WHERE event_id = $1`, h.id).Scan(&of, &n)
	if errors.Is(err, pgx.ErrNoRows) {
		return uuid.Nil, 0, errors.New("nobody staged it")
	}
	if err != nil || of == nil {
		return uuid.Nil, 0, err
	}
	return *of, *n, nil
}

// settle waits until all that may leave has been read, and wants nothing else to have been.
func (s *stack) settle() {
	s.t.Helper()
	const free = `SELECT event_id FROM outbox.event_outbox WHERE tx IS NOT NULL ORDER BY event_id`
	var want, got []string
	s.until("everything that was released is read", func() bool {
		want = append(list[string](s, s.intake, free), list[string](s, s.registry, free)...)
		slices.Sort(want)
		got = s.heard.ids()
		return len(got) >= len(want)
	})
	if !slices.Equal(want, got) {
		s.t.Errorf("%d events were released, and %d were read", len(want), len(got))
	}
	s.heard.mu.Lock()
	defer s.heard.mu.Unlock()
	for _, wrong := range s.heard.wrong {
		s.t.Error(wrong)
	}
}

// ids returns the ids of the events, each once, in their order.
func (d *downstream) ids() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	ids := make([]string, len(d.all))
	for i, h := range d.all {
		ids[i] = h.id
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// wantResolvable asks the registry for the entity of every event: a consumer can always do that.
func (s *stack) wantResolvable() {
	s.t.Helper()
	s.heard.mu.Lock()
	all := slices.Clone(s.heard.all)
	s.heard.mu.Unlock()
	for _, h := range all {
		if h.source != "/registry" {
			continue
		}
		if got := s.call(http.MethodGet, "/v1/entities/"+h.subject, ""); got.status != http.StatusOK {
			s.t.Errorf("%+v cannot be resolved: %s", h, got)
		}
	}
}
