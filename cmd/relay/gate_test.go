package main

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// A stream that is not fit ends a relay that waited for it; one that is fit does not.
func TestRunRefusesAStreamThatComesLater(t *testing.T) {
	t.Parallel()
	db, broker := outboxtest.NewDatabase(t), outboxtest.NewNATS(t)
	js := outboxtest.NewStream(t, broker.URL(), "OTHER", "other")
	environ := []string{"RELAY_DATABASE_URL=" + db.URL, "RELAY_NATS_URL=" + broker.URL(), "RELAY_UNREADY_AFTER=1s"}
	refused := startRelay(t, os.Args[0], environ...)
	allowed := startRelay(t, os.Args[0], append(environ, "RELAY_ALLOW=retention")...)
	for _, p := range []*process{refused, allowed} {
		eventually(t, "the relay waits for the stream", func() bool {
			code, body := p.get("/readyz", "application/json")
			return code == 503 && strings.Contains(body, "stream not found")
		})
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"events.>"}, Retention: jetstream.InterestPolicy}); err != nil {
		t.Fatal(err)
	}
	if code := refused.wait(); code != 2 {
		t.Errorf("exited with %d, want 2", code)
	}
	if log := refused.log(); !strings.Contains(log, `"message":"the start is refused: retention: `) || !strings.Contains(log, "--allow retention") {
		t.Errorf("the log is %s", log)
	}
	allowed.awaitReady(200)
	eventually(t, "the override is logged", func() bool { return allowed.count("a check of the start is overridden") == 1 })
	allowed.signal(syscall.SIGTERM)
	if code := allowed.wait(); code != 0 {
		t.Errorf("exited with %d", code)
	}
}

// Nothing is published into a stream that is not fit, however soon the relay could: acknowledgements are
// off, so that whatever were published would count as lost.
func TestRunPublishesNothingBeforeTheStreamIsChecked(t *testing.T) {
	t.Parallel()
	db, broker := outboxtest.NewDatabase(t), outboxtest.NewNATS(t)
	js := outboxtest.NewStream(t, broker.URL(), "OTHER", "other")
	_, err := db.Pool.Exec(t.Context(), `INSERT INTO outbox.event_outbox (event_id, source, type) SELECT n::text, '/test', 'test.happened' FROM generate_series(1, 200) AS n`)
	if err != nil {
		t.Fatal(err)
	}
	p := startRelay(t, os.Args[0], "RELAY_DATABASE_URL="+db.URL, "RELAY_NATS_URL="+broker.URL(), "RELAY_UNREADY_AFTER=1s", "RELAY_RETRY_MIN=1ms", "RELAY_RETRY_MAX=1ms")
	eventually(t, "the relay waits for the stream", func() bool {
		code, body := p.get("/readyz", "application/json")
		return code == 503 && strings.Contains(body, "stream not found")
	})
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"events.>"}, NoAck: true}); err != nil {
		t.Fatal(err)
	}
	if code := p.wait(); code != 2 {
		t.Errorf("exited with %d, want 2", code)
	}
	stream, err := js.Stream(t.Context(), "ORDERS")
	if err != nil {
		t.Fatal(err)
	}
	if n := stream.CachedInfo().State.Msgs; n != 0 {
		t.Errorf("%d messages were published before the stream was checked", n)
	}
	if log := p.log(); !strings.Contains(log, "the start is refused: acknowledgements: ") {
		t.Errorf("the log is %s", log)
	}
}

// While a relay is not ready, its probe says what relay check would say.
func TestReadinessShowsWhatIsWrong(t *testing.T) {
	t.Parallel()
	db, broker := outboxtest.NewDatabase(t), outboxtest.NewNATS(t)
	js := outboxtest.NewStream(t, broker.URL(), "ORDERS", "events.>")
	p := startRelay(t, os.Args[0], "RELAY_DATABASE_URL="+db.URL, "RELAY_NATS_URL="+broker.URL(), "RELAY_UNREADY_AFTER=1s", "RELAY_RETRY_MAX=100ms")
	if body := p.awaitReady(200); strings.Contains(body, "findings") {
		t.Errorf("/readyz says %s", body)
	}
	if err := js.DeleteStream(t.Context(), "ORDERS"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "/readyz shows the finding", func() bool {
		code, body := p.get("/readyz", "application/json")
		return code == 503 && strings.Contains(body, `{"check":"stream","severity":"fail","text":"stream ORDERS does not exist","hint":"create it: relay stream apply"}`)
	})
	if code, body := p.get("/readyz", ""); code != 503 || !strings.Contains(body, "\nfail stream: stream ORDERS does not exist\n  hint: create it: relay stream apply\n") {
		t.Errorf("/readyz says %s", body)
	}
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != 0 {
		t.Errorf("exited with %d", code)
	}
}
