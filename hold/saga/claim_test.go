package saga_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/hold/saga"
	"github.com/holdfast-dev/holdfast/outbox"
)

// TestClaimOutcomes: each row of the table.
func TestClaimOutcomes(t *testing.T) {
	t.Parallel()
	b := setupAlone(t, saga.Settings{})
	set := func(id uuid.UUID, sql string) {
		b.exec(`UPDATE outbox.saga_operation SET `+sql+` WHERE operation_id = $1`, id)
	}
	const (
		completed    = `state = 'completed', lease_holder = NULL, lease_expires_at = NULL, result = '{"n": 1}'`
		compensating = `state = 'compensating', lease_holder = NULL, lease_expires_at = NULL`
		aborted      = `state = 'aborted', lease_holder = NULL, lease_expires_at = NULL`
		stuck        = `state = 'stuck', lease_holder = NULL, lease_expires_at = NULL`
		expired      = `lease_expires_at = clock_timestamp() - interval '1 s'`
	)
	for name, c := range map[string]struct {
		absent bool   // nobody has claimed
		set    string // what the row is then
		gone   bool   // the subject
		other  bool   // the request has another digest
		kind   string // of the request, when it is another one under the same digest
		want   string
		status int
	}{
		"absent":                             {absent: true, want: "won"},
		"completed":                          {set: completed, want: "completed", status: 200},
		"completed, other digest":            {set: completed, other: true, want: "completed", status: 200},
		"completed, subject gone":            {set: completed, gone: true, want: "completed", status: 200},
		"absent, subject gone":               {absent: true, gone: true, want: "subject_gone", status: 404},
		"in progress, subject gone":          {gone: true, want: "subject_gone", status: 404},
		"compensating":                       {set: compensating, want: "in_progress", status: 503},
		"compensating, subject gone":         {set: compensating, gone: true, want: "subject_gone", status: 404},
		"compensating, other digest":         {set: compensating, other: true, want: "digest_mismatch", status: 409},
		"in progress, live":                  {want: "in_progress", status: 503},
		"in progress, live, other digest":    {other: true, want: "digest_mismatch", status: 409},
		"in progress, expired":               {set: expired, want: "won"},
		"in progress, expired, other digest": {set: expired, other: true, want: "digest_mismatch", status: 409},
		"aborted":                            {set: aborted, want: "won"},
		"aborted, other digest":              {set: aborted, other: true, want: "won"},
		"aborted, subject gone":              {set: aborted, gone: true, want: "subject_gone", status: 404},
		"stuck":                              {set: stuck, want: "needs_operator", status: 503},
		"stuck, other digest":                {set: stuck, other: true, want: "digest_mismatch", status: 409},
		"stuck, subject gone":                {set: stuck, gone: true, want: "subject_gone", status: 404},
		"stuck, other kind":                  {set: stuck, kind: "order.change", want: "digest_mismatch", status: 409},
		"in progress, expired, other kind":   {set: expired, kind: "order.change", want: "digest_mismatch", status: 409},
	} {
		id := b.draft()
		if !c.absent {
			b.win(b.request(id))
		}
		if c.set != "" {
			set(id, c.set)
		}
		if c.gone {
			b.exec(`DELETE FROM draft WHERE id = $1`, id)
		}
		r := b.request(id)
		if c.other {
			r = b.requestOf(id, order{"Ada", "1.5"}, `{"today":"2026-11-30"}`)
		}
		if c.kind != "" {
			r.Kind = c.kind
		}
		got := b.claim(r)
		if got.Name() != c.want || got.HTTPStatus() != c.status {
			t.Errorf("%s: %s with %d, want %s with %d", name, got.Name(), got.HTTPStatus(), c.want, c.status)
		}
		if done, is := got.(saga.Completed); is && string(done.Result) != `{"n": 1}` {
			t.Errorf("%s: result is %s", name, done.Result)
		}
	}
}

// TestRetryAfter: it says when to come again, from the lease, or from the period of the
// reconciler while that is at work.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	b := setupAlone(t, saga.Settings{})
	id := b.draft()
	b.win(b.request(id))
	for _, c := range []struct {
		set         string
		least, most time.Duration
	}{
		{`lease_expires_at = clock_timestamp() + interval '1 h'`, 59 * time.Minute, time.Hour},
		{`lease_expires_at = clock_timestamp() + interval '1 min'`, 30 * time.Second, time.Minute},
		{`state = 'compensating', lease_expires_at = clock_timestamp() + interval '1 h'`, 15 * time.Second, 15 * time.Second},
	} {
		b.exec(`UPDATE outbox.saga_operation SET `+c.set+` WHERE operation_id = $1`, id)
		got, is := b.claim(b.request(id)).(saga.InProgressElsewhere)
		if !is || got.RetryAfter < c.least || got.RetryAfter > c.most || got.RetryAfterSeconds() < 1 {
			t.Errorf("%s: %v, want %s to %s", c.set, got, c.least, c.most)
		}
	}
}

// TestStealKeepsWhatIsPinned: generation, basis and participants; and the next generation does not.
func TestStealKeepsWhatIsPinned(t *testing.T) {
	t.Parallel()
	b := setupAlone(t, saga.Settings{})
	id := b.draft()
	first := b.win(b.request(id))
	b.age(id, "1 s")
	late := b.requestOf(id, order{"Ada", "1.50"}, `{"today":"2026-12-24"}`)
	late.Participants = []string{"another"}
	second := b.win(late)
	if !second.Stolen || second.Generation != 1 || string(second.Basis) != string(first.Basis) || second.Participants[0] != "people" || second.Holder == first.Holder {
		t.Errorf("first is %+v, stolen as %+v", first.Claim, second)
	}
	b.exec(`INSERT INTO outbox.saga_step VALUES ($1, DEFAULT, 1, 'person:0', 'person', 'p')`, id)
	b.exec(`UPDATE outbox.saga_operation SET state = 'aborted', lease_holder = NULL, lease_expires_at = NULL, attempts = 7,
		updated_at = clock_timestamp() - interval '1 d', next_attempt_at = clock_timestamp() - interval '1 d'`)
	var err error
	if b.keys, err = saga.NewKeys("k2", map[string][]byte{"k1": make([]byte, 32), "k2": append(make([]byte, 31), 1)}); err != nil {
		t.Fatal(err)
	}
	participants := late.Participants
	late = b.requestOf(id, order{"Eva", "2.00"}, `{"today":"2026-12-24"}`)
	late.Participants, late.Kind = participants, "order.change"
	third := b.win(late)
	if third.Stolen || third.Generation != 2 || string(third.Basis) != `{"today": "2026-12-24"}` || third.Participants[0] != "another" || third.Holder == second.Holder {
		t.Errorf("the next generation is %+v", third)
	}
	fresh := read[bool](t, b.Pool, `SELECT request_digest = $1 AND digest_key_id = 'k2' AND kind = 'order.change' AND attempts = 0 AND next_attempt_at > clock_timestamp() - interval '1 min'
		AND updated_at > clock_timestamp() - interval '1 min' AND lease_expires_at BETWEEN clock_timestamp() AND clock_timestamp() + interval '30 s'
		FROM outbox.saga_operation`, late.Digest.Sum())
	if !fresh {
		t.Errorf("the row is %s", read[string](t, b.Pool, `SELECT o::text FROM outbox.saga_operation o`))
	}
	if n := read[int](t, b.Pool, `SELECT count(*) FROM outbox.saga_step`); n != 0 {
		t.Errorf("%d steps of the last generation are left", n)
	}
}

// TestClaimAfterPruningAnswersFromTheResult: an id is never run twice, also when its row is gone.
func TestClaimAfterPruningAnswersFromTheResult(t *testing.T) {
	t.Parallel()
	b := setupAlone(t, saga.Settings{})
	for name, leave := range map[string]bool{"subject consumed": false, "subject there": true} {
		id := b.draft()
		b.exec(`INSERT INTO orders VALUES ($1, '{"n": 7}')`, id)
		if !leave {
			b.exec(`DELETE FROM draft WHERE id = $1`, id)
		}
		if got, is := b.claim(b.request(id)).(saga.Completed); !is || string(got.Result) != `{"n": 7}` {
			t.Errorf("%s: %v", name, got)
		}
	}
	if n := read[int](t, b.Pool, `SELECT count(*) FROM outbox.saga_operation`); n != 0 {
		t.Errorf("%d operations began", n)
	}
}

// TestConcurrentClaimsHaveOneWinner: 200 at once, some with nothing to serialise them but the row.
func TestConcurrentClaimsHaveOneWinner(t *testing.T) {
	t.Parallel()
	b := setupAlone(t, saga.Settings{})
	for name, locks := range map[string]bool{"the subject is locked": true, "only the row": false} {
		r := b.request(b.draft())
		if !locks {
			r.Subject = anySubject
		}
		names := make(chan string, 200)
		var clients errgroup.Group
		for range 200 {
			clients.Go(func() error {
				o, err := b.store.ClaimOrResume(t.Context(), b.Pool, r)
				if err != nil {
					return err
				}
				if later, is := o.(saga.InProgressElsewhere); is && later.RetryAfter <= 0 {
					return fmt.Errorf("retry after %s", later.RetryAfter)
				}
				names <- o.Name()
				return nil
			})
		}
		if err := clients.Wait(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		close(names)
		count := map[string]int{}
		for n := range names {
			count[n]++
		}
		if count["won"] != 1 || count["in_progress"] != 199 {
			t.Errorf("%s: %v", name, count)
		}
	}
	if n := read[int](t, b.Pool, `SELECT sum(attempts) + count(*) FROM outbox.saga_operation`); n != 2 {
		t.Errorf("operations and attempts are %d: what clients ask is no attempt", n)
	}
}

// TestInsertRace: the loser waits for the winner and reads again, or wins if that rolled back.
func TestInsertRace(t *testing.T) {
	t.Parallel()
	b := setupAlone(t, saga.Settings{})
	for want, commits := range map[string]bool{"in_progress": true, "won": false} {
		r := b.request(b.draft())
		r.Subject = anySubject
		hold := newBarrier()
		first := make(chan error, 1)
		go func() {
			_, err := b.store.ClaimOrResume(t.Context(), barrierDB{b.Pool, hold, commits}, r)
			first <- err
		}()
		wait(t, "the first claim has inserted", hold.reached)
		conn, pid := b.conn()
		second := make(chan string, 1)
		go func() {
			o, err := b.store.ClaimOrResume(t.Context(), conn, r)
			if err != nil {
				second <- err.Error()
				return
			}
			second <- o.Name()
		}()
		b.waitBlocked(pid)
		close(hold.leave)
		if err := wait(t, "the first claim", first); (err == nil) != commits {
			t.Errorf("first claim: %v", err)
		}
		if got := wait(t, "the second claim", second); got != want {
			t.Errorf("second claim is %s, want %s", got, want)
		}
	}
}

// TestStealRace: of two that find the lease over, one gets it.
func TestStealRace(t *testing.T) {
	t.Parallel()
	b := setupAlone(t, saga.Settings{})
	id := b.draft()
	r := b.request(id)
	r.Subject = anySubject
	b.win(r)
	b.age(id, "1 s")
	hold := newBarrier()
	first := b.claiming(barrierDB{b.Pool, hold, true}, r)
	wait(t, "the first has stolen it", hold.reached)
	conn, pid := b.conn()
	second := b.claiming(conn, r)
	b.waitBlocked(pid)
	close(hold.leave)
	if won, is := wait(t, "the first claim", first).(saga.Won); !is || !won.Stolen {
		t.Errorf("the first is %v", won)
	}
	if _, is := wait(t, "the second claim", second).(saga.InProgressElsewhere); !is {
		t.Error("the second got it too")
	}
}

// TestCrashAfterClaimDelaysByTheLease: and not by the retention.
func TestCrashAfterClaimDelaysByTheLease(t *testing.T) {
	t.Parallel()
	b := setupAlone(t, saga.Settings{})
	id := b.draft()
	b.win(b.request(id)) // and then dies
	left := read[time.Duration](t, b.Pool, `SELECT lease_expires_at - clock_timestamp() FROM outbox.saga_operation`)
	if left > b.store.Settings().Lease {
		t.Errorf("the lease lasts %s", left)
	}
	b.steal(id)
}

// TestPinnedDigestIsComparedUnderItsKey: keys rotate while operations run.
func TestPinnedDigestIsComparedUnderItsKey(t *testing.T) {
	t.Parallel()
	b := setupAlone(t, saga.Settings{})
	id := b.draft()
	b.win(b.request(id))
	b.age(id, "1 s")
	old, other := make([]byte, 32), append(make([]byte, 31), 1)
	var err error
	if b.keys, err = saga.NewKeys("k2", map[string][]byte{"k1": old, "k2": other}); err != nil {
		t.Fatal(err)
	}
	if won := b.win(b.request(id)); !won.Stolen {
		t.Error("not stolen")
	}
	if b.keys, err = saga.NewKeys("k2", map[string][]byte{"k2": other}); err != nil {
		t.Fatal(err)
	}
	b.age(id, "1 s")
	if _, err := b.store.ClaimOrResume(t.Context(), b.Pool, b.request(id)); !errors.Is(err, saga.ErrDigestKeyUnknown) {
		t.Errorf("claim: %v", err)
	}
	fresh := b.draft()
	b.win(b.request(fresh))
	if key := read[string](t, b.Pool, `SELECT digest_key_id FROM outbox.saga_operation WHERE operation_id = $1`, fresh); key != "k2" {
		t.Errorf("new operations are pinned with %s", key)
	}
}

func TestBadRequestsAreRefused(t *testing.T) {
	t.Parallel()
	b := setupAlone(t, saga.Settings{})
	for name, change := range map[string]func(*saga.Request){
		"operation":    func(r *saga.Request) { r.ID = uuid.Nil },
		"kind":         func(r *saga.Request) { r.Kind = "" },
		"participants": func(r *saga.Request) { r.Participants = []string{"a", "a"} },
		"basis":        func(r *saga.Request) { r.Basis = json.RawMessage(`{`) },
		"digest":       func(r *saga.Request) { r.Digest = saga.Digest{} },
		"request":      func(r *saga.Request) { r.Subject = nil },
	} {
		r := b.request(uuid.New())
		change(&r)
		var invalid *outbox.InvalidArgumentError
		if _, err := b.store.ClaimOrResume(t.Context(), b.Pool, r); !errors.As(err, &invalid) || invalid.Argument != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := b.request(uuid.New())
	r.Kind = "unknown"
	var invalid *outbox.InvalidArgumentError
	if _, err := b.coordinator().ClaimOrResume(t.Context(), r); !errors.As(err, &invalid) || invalid.Argument != "kind" {
		t.Errorf("unknown kind: %v", err)
	}
}

// TestSubjectErrorClaimsNothing: what the caller's lock reports is the answer.
func TestSubjectErrorClaimsNothing(t *testing.T) {
	t.Parallel()
	b := setupAlone(t, saga.Settings{})
	r := b.request(uuid.New())
	r.Subject = failing
	if _, err := b.store.ClaimOrResume(t.Context(), b.Pool, r); !errors.Is(err, errDied) {
		t.Errorf("claim: %v", err)
	}
	if n := read[int](t, b.Pool, `SELECT count(*) FROM outbox.saga_operation`); n != 0 {
		t.Errorf("%d operations began", n)
	}
}

var _ saga.Beginner = (*pgx.Conn)(nil)
