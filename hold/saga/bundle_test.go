package saga_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/receipt"
	"github.com/holdfast-dev/holdfast/hold/saga"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// waitLimit bounds every wait for another goroutine or connection.
const waitLimit = 90 * time.Second

const kind = "order.finalize"

// bundle is a coordinator's database with drafts and orders, and a participant's with persons.
type bundle struct {
	*outboxtest.Database // the coordinator's
	people               *outboxtest.Database

	t     *testing.T
	store *saga.Store
	keys  *saga.Keys
	desk  *desk // in front of the participant
}

func setup(t *testing.T) *bundle { return setupWith(t, saga.Settings{}) }

func setupWith(t *testing.T, settings saga.Settings) *bundle {
	t.Helper()
	b := setupAlone(t, settings)
	b.people = outboxtest.NewDatabase(t)
	if _, err := b.people.Pool.Exec(t.Context(), `CREATE TABLE person (id text PRIMARY KEY, operation uuid, body text)`); err != nil {
		t.Fatal(err)
	}
	holds, err := hold.New(hold.Config{})
	if err != nil {
		t.Fatal(err)
	}
	b.desk.Participant = saga.NewDirect(b.people.Pool, holds, "orders", eraser{})
	return b
}

// setupAlone is setup without the participant's database, for tests that call nobody.
func setupAlone(t *testing.T, settings saga.Settings) *bundle {
	t.Helper()
	b := &bundle{Database: outboxtest.NewDatabase(t), t: t, desk: &desk{}}
	b.exec(`CREATE TABLE draft (id uuid PRIMARY KEY, expires_at timestamptz NOT NULL DEFAULT clock_timestamp() + interval '1 d');
		CREATE TABLE orders (id uuid PRIMARY KEY, answer jsonb NOT NULL)`)
	var err error
	if b.store, err = saga.New(saga.Config{Settings: settings}); err != nil {
		t.Fatal(err)
	}
	if b.keys, err = saga.NewKeys("k1", map[string][]byte{"k1": make([]byte, 32)}); err != nil {
		t.Fatal(err)
	}
	return b
}

// coordinator makes one with the participant "people", and others if given.
func (b *bundle) coordinator(others ...func(map[string]saga.Participants)) *saga.Coordinator {
	b.t.Helper()
	kinds := map[string]saga.Participants{kind: {"people": b.desk}}
	for _, change := range others {
		change(kinds)
	}
	c, err := saga.NewCoordinator(b.Pool, b.store, kinds, saga.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

// draft makes a subject under a new id.
func (b *bundle) draft() uuid.UUID {
	b.t.Helper()
	id := uuid.New()
	b.exec(`INSERT INTO draft (id) VALUES ($1)`, id)
	return id
}

// order is what a client sends.
type order struct {
	Name   string `json:"name"`
	Amount string `json:"amount"`
}

func (b *bundle) request(id uuid.UUID) saga.Request {
	b.t.Helper()
	return b.requestOf(id, order{"Ada", "1.50"}, `{"today":"2026-11-29"}`)
}

func (b *bundle) requestOf(id uuid.UUID, o order, basis string) saga.Request {
	b.t.Helper()
	digest, err := b.keys.Digest(kind, o)
	if err != nil {
		b.t.Fatal(err)
	}
	return saga.Request{
		ID: id, Kind: kind, Participants: []string{"people"}, Basis: json.RawMessage(basis), Digest: digest,
		Subject: func(ctx context.Context, tx pgx.Tx) (bool, error) {
			rows, err := tx.Query(ctx, `SELECT true FROM draft WHERE id = $1 AND expires_at > clock_timestamp() FOR UPDATE`, id)
			if err != nil {
				return false, err
			}
			found, err := pgx.CollectRows(rows, pgx.RowTo[bool])
			return len(found) > 0, err
		},
		Result: func(ctx context.Context, tx pgx.Tx) (json.RawMessage, error) {
			var answer string
			err := tx.QueryRow(ctx, `SELECT answer::text FROM orders WHERE id = $1`, id).Scan(&answer)
			if errors.Is(err, pgx.ErrNoRows) {
				return nil, nil
			}
			return json.RawMessage(answer), err
		},
	}
}

func (b *bundle) claim(r saga.Request) saga.Outcome {
	b.t.Helper()
	o, err := b.store.ClaimOrResume(b.t.Context(), b.Pool, r)
	if err != nil {
		b.t.Fatalf("claim: %v", err)
	}
	return o
}

// claiming claims beside the test, on a connection of its own.
func (b *bundle) claiming(on saga.Beginner, r saga.Request) <-chan saga.Outcome {
	claimed := make(chan saga.Outcome, 1)
	go func() {
		o, err := b.store.ClaimOrResume(b.t.Context(), on, r)
		if err != nil {
			b.t.Errorf("claim: %v", err)
		}
		claimed <- o
	}()
	return claimed
}

func (b *bundle) win(r saga.Request) saga.Won {
	b.t.Helper()
	o := b.claim(r)
	won, is := o.(saga.Won)
	if !is {
		b.t.Fatalf("claim is %s, want won", o.Name())
	}
	return won
}

// work makes two persons and an order. The bodies come from the basis.
func (b *bundle) work(won saga.Won) saga.Work {
	b.t.Helper()
	var steps []saga.Step
	for i := range 2 {
		key, err := receipt.Indexed("person", i)
		if err != nil {
			b.t.Fatal(err)
		}
		steps = append(steps, saga.Step{Key: key, Kind: "person", Do: func(ctx context.Context, c saga.Call) (string, error) {
			return b.makePerson(ctx, c, fmt.Sprintf("%s/%d", won.Basis, i))
		}})
	}
	return saga.Work{Steps: steps, Final: b.final(won)}
}

func (b *bundle) final(won saga.Won) func(context.Context, pgx.Tx, map[string]string) (json.RawMessage, error) {
	return func(ctx context.Context, tx pgx.Tx, remote map[string]string) (json.RawMessage, error) {
		answer, err := json.Marshal(map[string]any{"order": won.Operation, "persons": len(remote)})
		if err != nil {
			return nil, err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO orders VALUES ($1, $2)`, won.Operation, string(answer)); err != nil {
			return nil, err
		}
		if _, err := tx.Exec(ctx, `SELECT outbox.publish('/orders', 'order.made')`); err != nil {
			return nil, err
		}
		_, err = tx.Exec(ctx, `DELETE FROM draft WHERE id = $1`, won.Operation)
		return answer, err
	}
}

// makePerson is what the participant does with a call.
func (b *bundle) makePerson(ctx context.Context, c saga.Call, body string) (string, error) {
	b.desk.note(c.Key.String(), body)
	digest := sha256.Sum256([]byte(body))
	step := receipt.Step{Operation: c.Hold.Operation, Generation: c.Hold.Generation, Key: c.Key, EntityKind: "person", BodyDigest: digest[:]}
	var result receipt.Result
	err := pgx.BeginFunc(ctx, b.people.Pool, func(tx pgx.Tx) (err error) {
		result, err = receipt.Do(ctx, tx, step, func(tx pgx.Tx) (string, error) {
			id := uuid.NewString()
			if _, err := tx.Exec(ctx, `INSERT INTO person VALUES ($1, $2, $3)`, id, c.Hold.Operation, body); err != nil {
				return "", err
			}
			_, err := tx.Exec(ctx, `SELECT outbox.publish_held($1, $2, '/people', 'person.made')`, c.Hold.Operation.String(), c.Hold.Generation)
			return id, err
		})
		return err
	})
	return result.StableID, err
}

// eraser undoes persons.
type eraser struct{}

func (eraser) Lock(context.Context, pgx.Tx, hold.Receipt) error { return nil }
func (eraser) Undo(ctx context.Context, tx pgx.Tx, r hold.Receipt) (hold.Fate, error) {
	_, err := tx.Exec(ctx, `DELETE FROM person WHERE id = $1`, r.StableID)
	return hold.Undone(), err
}

func (b *bundle) exec(sql string, args ...any) {
	b.t.Helper()
	outboxtest.Exec(b.t, b.Pool, sql, args...)
}

func read[T any](t *testing.T, pool *pgxpool.Pool, sql string, args ...any) T {
	t.Helper()
	return outboxtest.One[T](t, pool, sql, args...)
}

// age makes the lease of an operation over for that long.
func (b *bundle) age(id uuid.UUID, over string) {
	b.t.Helper()
	b.exec(`UPDATE outbox.saga_operation SET lease_expires_at = clock_timestamp() - $2::interval WHERE operation_id = $1`, id, over)
}

// due makes an operation due for the reconciler.
func (b *bundle) due(id uuid.UUID) {
	b.t.Helper()
	b.exec(`UPDATE outbox.saga_operation SET next_attempt_at = clock_timestamp() WHERE operation_id = $1`, id)
}

// steal is what another replica does when the lease is over.
func (b *bundle) steal(id uuid.UUID) saga.Won {
	b.t.Helper()
	b.age(id, "1 s")
	won := b.win(b.request(id))
	if !won.Stolen {
		b.t.Fatal("it was not stolen")
	}
	return won
}

func (b *bundle) state(id uuid.UUID) saga.State {
	b.t.Helper()
	return saga.State(read[string](b.t, b.Pool, `SELECT state FROM outbox.saga_operation WHERE operation_id = $1`, id))
}

func (b *bundle) wantState(id uuid.UUID, want saga.State) {
	b.t.Helper()
	if got := b.state(id); got != want {
		b.t.Errorf("state is %s, want %s", got, want)
	}
}

func (b *bundle) released(id uuid.UUID) bool {
	b.t.Helper()
	return read[bool](b.t, b.Pool, `SELECT events_released FROM outbox.saga_operation WHERE operation_id = $1`, id)
}

// wantPeople checks what the operation has at the participant: persons, held events, and events in
// the log.
func (b *bundle) wantPeople(id uuid.UUID, persons, held, sent int) {
	b.t.Helper()
	got := [3]int{
		read[int](b.t, b.people.Pool, `SELECT count(*) FROM person WHERE operation = $1`, id),
		read[int](b.t, b.people.Pool, `SELECT count(*) FROM outbox.event_outbox WHERE hold_operation_id = $1 AND tx IS NULL`, id),
		read[int](b.t, b.people.Pool, `SELECT count(*) FROM outbox.event_outbox WHERE hold_operation_id = $1 AND tx IS NOT NULL`, id),
	}
	if want := [3]int{persons, held, sent}; got != want {
		b.t.Errorf("persons, held and sent events are %v, want %v", got, want)
	}
}

func (b *bundle) run(c *saga.Coordinator, won saga.Won) saga.Answer {
	b.t.Helper()
	a, err := c.Run(b.t.Context(), won, b.work(won))
	if err != nil {
		b.t.Fatalf("run: %v", err)
	}
	return a
}

func (b *bundle) tick(c *saga.Coordinator) *saga.Report {
	b.t.Helper()
	r, err := c.Tick(b.t.Context())
	if err != nil {
		b.t.Fatalf("tick: %v", err)
	}
	return r
}

// abandon makes an operation whose holder made the steps and died; its lease is over for that long.
func (b *bundle) abandon(c *saga.Coordinator, over string) uuid.UUID {
	b.t.Helper()
	id := b.draft()
	won := b.win(b.request(id))
	work := b.work(won)
	work.Final = func(context.Context, pgx.Tx, map[string]string) (json.RawMessage, error) { return nil, errDied }
	if _, err := c.Run(b.t.Context(), won, work); !errors.Is(err, errDied) {
		b.t.Fatalf("run: %v", err)
	}
	b.age(id, over)
	return id
}

var errDied = errors.New("died")

// waitBlocked returns when the connection waits for a lock of someone else.
func (b *bundle) waitBlocked(pid uint32) {
	b.t.Helper()
	b.until("a lock is waited for", func() bool {
		return read[bool](b.t, b.Pool, `SELECT cardinality(pg_blocking_pids($1)) > 0`, pid)
	})
}

func (b *bundle) until(what string, is func() bool) {
	b.t.Helper()
	outboxtest.Eventually(b.t, waitLimit, what, is)
}

// conn is a connection of its own, with its backend's number.
func (b *bundle) conn() (*pgx.Conn, uint32) {
	b.t.Helper()
	conn, err := pgx.Connect(b.t.Context(), b.URL)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
		defer cancel()
		_ = conn.Close(ctx)
	})
	return conn, conn.PgConn().PID()
}

func wait[T any](t *testing.T, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(waitLimit):
		t.Fatalf("never happened: %s", what)
		panic("not reached")
	}
}

// desk stands before a participant: it notes what is asked, and does as it is told first.
type desk struct {
	saga.Participant

	mu     sync.Mutex
	calls  []string
	bodies map[string][]string
	before func(ctx context.Context, what string) error
}

func (d *desk) note(key, body string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.bodies == nil {
		d.bodies = map[string][]string{}
	}
	d.bodies[key] = append(d.bodies[key], body)
}

func (d *desk) sent(key string) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.bodies[key]...)
}

func (d *desk) first(f func(ctx context.Context, what string) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.before = f
}

func (d *desk) count(what string) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.calls {
		if c == what {
			n++
		}
	}
	return n
}

func (d *desk) enter(ctx context.Context, what string) error {
	d.mu.Lock()
	d.calls = append(d.calls, what)
	before := d.before
	d.mu.Unlock()
	if before == nil {
		return nil
	}
	return before(ctx, what)
}

func (d *desk) Register(ctx context.Context, h outbox.Hold) (hold.Answer, error) {
	if err := d.enter(ctx, "register"); err != nil {
		return hold.Answer{}, err
	}
	return d.Participant.Register(ctx, h)
}

func (d *desk) Release(ctx context.Context, h outbox.Hold) (hold.Answer, error) {
	if err := d.enter(ctx, "release"); err != nil {
		return hold.Answer{}, err
	}
	return d.Participant.Release(ctx, h)
}

func (d *desk) Cancel(ctx context.Context, h outbox.Hold) (hold.Answer, error) {
	if err := d.enter(ctx, "cancel"); err != nil {
		return hold.Answer{}, err
	}
	return d.Participant.Cancel(ctx, h)
}

// requestIgnoringExpiry locks the subject whatever its age, as one that was read before it expired.
func (b *bundle) requestIgnoringExpiry(id uuid.UUID) func(context.Context, pgx.Tx) (bool, error) {
	return func(ctx context.Context, tx pgx.Tx) (bool, error) {
		tag, err := tx.Exec(ctx, `SELECT FROM draft WHERE id = $1 FOR UPDATE`, id)
		return tag.RowsAffected() > 0, err
	}
}
