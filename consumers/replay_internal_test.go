package consumers

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/consumers/facts"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// TestReplayIsEndedByItsToken: whoever comes too late, because the claim ran out and another instance took it,
// ends nothing; and a claim that lives is nobody else's.
func TestReplayIsEndedByItsToken(t *testing.T) {
	t.Parallel()
	db, sql := outboxtest.NewDatabase(t), newStatements("outbox")
	const dead = `INSERT INTO outbox.consumer_dead_letter (consumer, stream, stream_seq, attempts, reason_code, reason_detail_sha256, state)
		VALUES ('ledger', 'EVENTS', 1, 1, 'permanent', sha256('x'), 'replay_requested')`
	if _, err := db.Pool.Exec(t.Context(), dead); err != nil {
		t.Fatal(err)
	}
	claim := func(lease string) (l letter, err error) {
		err = db.Pool.QueryRow(t.Context(), sql.claimReplay, "ledger", "EVENTS", lease).Scan(&l.id, &l.seq, &l.token, &l.source, &l.of)
		return l, err
	}
	end := func(l letter, state string) (mine bool) {
		t.Helper()
		if err := db.Pool.QueryRow(t.Context(), sql.endReplay, l.id, l.token, state, 0, nil, nil, "why").Scan(&mine); err != nil {
			t.Fatal(err)
		}
		return mine
	}
	late, err := claim("-1 second")
	if err != nil {
		t.Fatal(err)
	}
	now, err := claim("1 hour")
	if err != nil || now.id != late.id || now.token == late.token {
		t.Fatalf("the claim that ran out was taken as %+v, %v", now, err)
	}
	if other, err := claim("1 hour"); err == nil {
		t.Errorf("a claim that lives was taken as %+v", other)
	}
	if end(late, "dead") || !end(now, "resolved") || end(now, "dead") {
		t.Error("somebody ended what is not theirs, or could not end what is")
	}
}

// TestNextRangeIsNotTakenForTheOld: another instance ends a range, and somebody requests the next one under the same
// name, between the look and the taking. Nothing of the next one is acknowledged without being handled.
func TestNextRangeIsNotTakenForTheOld(t *testing.T) {
	t.Parallel()
	db, broker := outboxtest.NewDatabase(t), outboxtest.NewNATS(t)
	js := outboxtest.NewStream(t, broker.URL(), "EVENTS", "events.>")
	for range 6 {
		if _, err := js.Publish(t.Context(), "events.x", nil); err != nil {
			t.Fatal(err)
		}
	}
	c, err := New(db.Pool, js.Conn(), func(context.Context, *facts.Tx, event.Event) error { return errors.New("not in this test") }, Config{
		Name: "ledger", Stream: "EVENTS", Effects: map[string]Effect{"refund": {Table: "public.refund"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	request := func(first, last uint64) {
		t.Helper()
		cfg := jetstream.ConsumerConfig{Durable: rangeName("ledger"), AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Minute,
			DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: first, Metadata: map[string]string{rangeLast: fmt.Sprint(last)}}
		if _, err := js.CreateConsumer(t.Context(), "EVENTS", cfg); err != nil {
			t.Fatal(err)
		}
	}
	request(1, 3)
	old, last, err := c.findRange(t.Context())
	if err != nil || last != 3 {
		t.Fatalf("last %d, %v", last, err)
	}
	if err := js.DeleteConsumer(t.Context(), "EVENTS", rangeName("ledger")); err != nil {
		t.Fatal(err)
	}
	request(4, 6)
	if taken, err := c.takeRange(t.Context(), old, last); taken != 0 || err != nil {
		t.Errorf("%d were taken, %v", taken, err)
	}
	next, _, err := c.findRange(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	again, err := next.Fetch(3, jetstream.FetchMaxWait(20*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for range again.Messages() {
		n++
	}
	if n != 3 {
		t.Errorf("%d messages of the next range are left to be handled, want 3: %v", n, again.Error())
	}
}
