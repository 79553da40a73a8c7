package retry_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/relay/retry"
)

func TestRetryKeepsReasonAndExactBackoff(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.waiting("", "parked")
	b.due(id)
	for attempt, pause := range []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second} {
		c := b.claimOne()
		before := one[time.Time](b, "SELECT clock_timestamp()")
		r := b.record(c, retry.Retryable(refused))
		after := one[time.Time](b, "SELECT clock_timestamp()")
		if r.Route != retry.RetryScheduled || r.Attempts != int32(attempt+1) {
			t.Fatalf("result %+v, want retry %d", r, attempt+1)
		}
		if r.NextVisible.Before(before.Add(pause)) || r.NextVisible.After(after.Add(pause)) {
			t.Errorf("attempt %d is visible at %s, want %s after the outcome", attempt+1, r.NextVisible, pause)
		}
		sound := one[bool](b, `SELECT lease_token IS NULL AND reason_code = 'message_too_large' AND work_kind = 'retry_scheduled'
			AND reason_detail_sha256 = sha256(convert_to($2, 'UTF8')) FROM outbox.outbox_retry WHERE id = $1`, id, refused.Detail)
		if !sound {
			t.Errorf("row after attempt %d: %s", attempt+1, b.state(id))
		}
		if got := b.claim(10); len(got) != 0 {
			t.Errorf("claimed %+v before its time", got)
		}
		b.due(id)
	}
}

func TestAcceptedAndSkippedRemoveOnlyTheClaimedRow(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	accepted, skipped, other := b.waiting("", "retry_scheduled"), b.waiting("", "retry_scheduled"), b.waiting("", "retry_scheduled")
	claims := b.claim(2)
	if r := b.record(claims[0], retry.Accepted("EVENTS", 42)); r.Route != retry.Done {
		t.Errorf("accepted: %+v", r)
	}
	if r := b.record(claims[1], retry.Skipped()); r.Route != retry.Done {
		t.Errorf("skipped: %+v", r)
	}
	for _, id := range []int64{accepted, skipped} {
		if b.state(id) != "gone" {
			t.Errorf("row %d is still there", id)
		}
	}
	if b.state(other) == "gone" || b.count("outbox_dead_letter") != 0 {
		t.Error("another row is gone, or there is a dead letter")
	}
	if n := one[int64](b, "SELECT count(*) FROM outbox.outbox_batch WHERE stream_seq_first = 42 AND events = 1"); n != 1 {
		t.Errorf("%d batches record the accepted event, want 1", n)
	}
	// Repeating the call is harmless.
	if r := b.record(claims[0], retry.Accepted("EVENTS", 42)); r.Route != retry.Done {
		t.Errorf("accepted again: %+v", r)
	}
	// A failure after the success is not.
	if _, err := b.Record(t.Context(), claims[0], retry.Permanent(refused)); !errors.Is(err, retry.ErrConflict) {
		t.Errorf("given up after a success: %v, want a conflict", err)
	}
	if b.count("outbox_retry") != 1 || b.count("outbox_dead_letter") != 0 || b.count("outbox_batch") != 1 {
		t.Error("a repeated outcome changed what is stored")
	}
}

func TestAcceptedOutcomeNamesItsPlaceInTheStream(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.waiting("", "retry_scheduled")
	c := b.claimOne()
	before := b.state(id)
	for name, o := range map[string]retry.Outcome{
		"no stream": retry.Accepted("", 1), "no sequence": retry.Accepted("EVENTS", 0),
		"a sequence that the database has no number for": retry.Accepted("EVENTS", math.MaxInt64+1),
	} {
		var invalid *retry.InvalidError
		if _, err := b.Record(t.Context(), c, o); !errors.As(err, &invalid) {
			t.Errorf("%s: %v, want an *InvalidError", name, err)
		}
	}
	if after := b.state(id); after != before {
		t.Errorf("the row changed from %s to %s", before, after)
	}
	b.record(c, retry.Accepted("EVENTS", math.MaxInt64))
}

func TestPermanentOutcomeMovesTheEventAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.waiting("k", "retry_scheduled")
	c := b.claimOne()
	r := b.record(c, retry.Permanent(refused))
	if r.Route != retry.DeadLettered || r.Attempts != 2 {
		t.Fatalf("result %+v, want dead-lettered after 2 attempts", r)
	}
	if b.state(id) != "gone" {
		t.Error("the event waits and is a dead letter")
	}
	same := one[bool](b, `SELECT d.data = '\x00ff' AND d.source = '/test' AND d.partition_key = 'k' AND d.event_id = $1 FROM outbox.outbox_dead_letter d`, c.EventID)
	if !same {
		t.Error("the dead letter is not a copy of the event")
	}
	// The same outcome again gets the same answer; another one is a conflict.
	if again := b.record(c, retry.Permanent(refused)); again != r {
		t.Errorf("repeated: %+v, want %+v", again, r)
	}
	for name, o := range map[string]retry.Outcome{
		"another reason": retry.Permanent(retry.Reason{Code: retry.Rejected, Detail: "x"}),
		"another detail": retry.Permanent(retry.Reason{Code: refused.Code, Detail: "another"}),
		"success":        retry.Accepted("EVENTS", 1),
		"a retry":        retry.Retryable(refused),
	} {
		if _, err := b.Record(t.Context(), c, o); !errors.Is(err, retry.ErrConflict) {
			t.Errorf("%s after a dead letter: %v, want a conflict", name, err)
		}
	}
	if n := b.count("outbox_dead_letter"); n != 1 {
		t.Errorf("%d dead letters, want 1", n)
	}
}

func TestExhaustionIsTerminal(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *retry.Config) {
		c.Policy = retry.Policy{MaxRetries: 2, Initial: time.Millisecond, Max: time.Millisecond}
	})
	id := b.waiting("", "parked")
	var r retry.Result
	var c retry.Claim
	for range 3 {
		b.due(id)
		c = b.claimOne()
		r = b.record(c, retry.Retryable(refused))
	}
	if r.Route != retry.DeadLettered || r.Attempts != 3 {
		t.Errorf("third refusal: %+v, want dead-lettered after 3 attempts", r)
	}
	if again := b.record(c, retry.Retryable(refused)); again != r {
		t.Errorf("repeated: %+v, want %+v", again, r)
	}
	for name, o := range map[string]retry.Outcome{
		"another failure": retry.Retryable(retry.Reason{Code: retry.Rejected, Detail: "x"}),
		"success":         retry.Accepted("EVENTS", 1),
		"skipped":         retry.Skipped(),
	} {
		if _, err := b.Record(t.Context(), c, o); !errors.Is(err, retry.ErrConflict) {
			t.Errorf("%s after exhaustion: %v, want a conflict", name, err)
		}
	}
	if b.count("outbox_dead_letter") != 1 || b.count("outbox_retry") != 0 || b.count("outbox_dead_letter_history") != 1 {
		t.Error("a repeated outcome changed what is stored")
	}
}

func TestNoRetriesMeansTheFirstRefusalIsTheLast(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *retry.Config) {
		c.Policy = retry.Policy{MaxRetries: 0, Initial: time.Millisecond, Max: time.Millisecond}
	})
	b.due(b.waiting("", "parked"))
	if r := b.record(b.claimOne(), retry.Retryable(refused)); r.Route != retry.DeadLettered {
		t.Errorf("result %+v, want dead-lettered", r)
	}
}

func TestStaleClaimCannotCommit(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]string{
		"the lease ended, nobody took it": "UPDATE outbox.outbox_retry SET lease_until = clock_timestamp() - interval '1 us'",
		"another token":                   "UPDATE outbox.outbox_retry SET lease_token = gen_random_uuid()",
		"another owner":                   "UPDATE outbox.outbox_retry SET lease_owner = 'worker-2'",
		"another version":                 "UPDATE outbox.outbox_retry SET row_version = row_version + 1",
		"other attempts":                  "UPDATE outbox.outbox_retry SET attempts = attempts + 1",
		"another deadline":                "UPDATE outbox.outbox_retry SET lease_until = lease_until + interval '1 hour'",
		"the row is another one":          "UPDATE outbox.outbox_retry SET id = DEFAULT",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			id := b.waiting("", "retry_scheduled")
			c := b.claimOne()
			b.exec(spoil)
			before := b.state(id)
			for _, o := range []retry.Outcome{retry.Accepted("EVENTS", 1), retry.Skipped(), retry.Retryable(refused), retry.Permanent(refused)} {
				if _, err := b.Record(t.Context(), c, o); !errors.Is(err, retry.ErrConflict) {
					t.Errorf("error %v, want a conflict", err)
				}
			}
			if err := b.LetGo(t.Context(), c, time.Second); err != nil {
				t.Errorf("let go: %v", err)
			}
			if after := b.state(id); after != before {
				t.Errorf("the row changed from %s to %s", before, after)
			}
		})
	}
}

func TestCounterOverflowChangesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.waiting("", "retry_scheduled")
	b.exec("UPDATE outbox.outbox_retry SET attempts = $1", math.MaxInt32)
	c := b.claimOne()
	before := b.state(id)
	var invalid *retry.InvalidError
	if _, err := b.Record(t.Context(), c, retry.Retryable(refused)); !errors.As(err, &invalid) {
		t.Errorf("error %v, want an *InvalidError", err)
	}
	if _, err := b.Record(t.Context(), c, retry.Retryable(retry.Reason{Code: "because"})); !errors.As(err, &invalid) {
		t.Errorf("error %v for an unknown code, want an *InvalidError", err)
	}
	if after := b.state(id); after != before {
		t.Errorf("the row changed from %s to %s", before, after)
	}
}

// TestFailureToBuryKeepsTheClaim: what the dead letters do not take stays claimed as it was. A constraint
// contradicts the outcome; any other error says nothing, whatever its text.
func TestFailureToBuryKeepsTheClaim(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, spoil, mend string
		conflict          bool
	}{
		{
			"a constraint forbids it", "ALTER TABLE outbox.outbox_dead_letter ADD CONSTRAINT refuse CHECK (false)",
			"ALTER TABLE outbox.outbox_dead_letter DROP CONSTRAINT refuse", true,
		},
		{
			"an error that is called a conflict", `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'conflict'; END $$;
			CREATE TRIGGER refuse BEFORE INSERT ON outbox.outbox_dead_letter FOR EACH ROW EXECUTE FUNCTION refuse()`,
			"DROP TRIGGER refuse ON outbox.outbox_dead_letter", false,
		},
		{
			"a trigger swallows it", `CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
			CREATE TRIGGER refuse BEFORE INSERT ON outbox.outbox_dead_letter FOR EACH ROW EXECUTE FUNCTION swallow()`,
			"DROP TRIGGER refuse ON outbox.outbox_dead_letter", false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			id := b.waiting("", "retry_scheduled")
			claim := b.claimOne()
			before := b.state(id)
			b.exec(c.spoil)
			var invalid *retry.InvalidError
			_, err := b.Record(t.Context(), claim, retry.Permanent(refused))
			if err == nil || errors.Is(err, retry.ErrConflict) != c.conflict || errors.As(err, &invalid) {
				t.Errorf("error %v, want one that is a conflict: %v", err, c.conflict)
			}
			if after := b.state(id); after != before {
				t.Errorf("the row changed from %s to %s", before, after)
			}
			b.exec(c.mend)
			if r := b.record(claim, retry.Permanent(refused)); r.Route != retry.DeadLettered {
				t.Errorf("repeated: %+v", r)
			}
		})
	}
}

// TestDeadLetterThatAppearsIsAConflict: an event that is claimed becomes a dead letter behind the
// triggers' back.
func TestDeadLetterThatAppearsIsAConflict(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.waiting("", "retry_scheduled")
	c := b.claimOne()
	b.exec("ALTER TABLE outbox.outbox_dead_letter DISABLE TRIGGER outbox_dead_letter_one_fate")
	b.exec(intoDead, id)
	before := b.state(id)
	if _, err := b.Record(t.Context(), c, retry.Permanent(refused)); !errors.Is(err, retry.ErrConflict) {
		t.Errorf("error %v, want a conflict", err)
	}
	if after := b.state(id); after != before {
		t.Errorf("the row changed from %s to %s", before, after)
	}
	if n := b.count("outbox_dead_letter"); n != 1 {
		t.Errorf("%d dead letters, want the one that appeared", n)
	}
}

// TestErrorOfTheDatabaseIsOfNoOtherClass: what could not be asked is neither a conflict nor invalid.
func TestErrorOfTheDatabaseIsOfNoOtherClass(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.waiting("", "retry_scheduled")
	c := b.claimOne()
	before := b.state(id)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, claimErr := b.ClaimDue(ctx, worker, lease, 1)
	_, recordErr := b.Record(ctx, c, retry.Permanent(refused))
	var invalid *retry.InvalidError
	for _, err := range []error{claimErr, recordErr} {
		if err == nil || errors.Is(err, retry.ErrConflict) || errors.As(err, &invalid) {
			t.Errorf("error %v, want one of the database", err)
		}
	}
	if after := b.state(id); after != before {
		t.Errorf("the row changed from %s to %s", before, after)
	}
}

// TestConcurrentTerminalOutcomesCommitExactlyOne holds both until both are under way, and lets them race.
func TestConcurrentTerminalOutcomesCommitExactlyOne(t *testing.T) {
	t.Parallel()
	outcome := func(detail string) retry.Outcome {
		return retry.Permanent(retry.Reason{Code: retry.Rejected, Detail: detail})
	}
	for name, outcomes := range map[string][2]retry.Outcome{
		"two failures":            {outcome("one"), outcome("two")},
		"a failure and a success": {outcome("one"), retry.Accepted("EVENTS", 7)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			for range 20 {
				id := b.waiting("", "retry_scheduled")
				c := b.claimOne()
				// Both wait for the row, so that neither has begun when the other ends.
				gate, err := b.db.Pool.Begin(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if _, err := gate.Exec(t.Context(), "SELECT FROM outbox.outbox_retry WHERE id = $1 FOR UPDATE", id); err != nil {
					t.Fatal(err)
				}
				errs := make([]error, 2)
				var both sync.WaitGroup
				for i, o := range outcomes {
					both.Go(func() { _, errs[i] = b.Record(t.Context(), c, o) })
				}
				b.eventuallyWaiting(2)
				if err := gate.Rollback(t.Context()); err != nil {
					t.Fatal(err)
				}
				both.Wait()
				if (errs[0] == nil) == (errs[1] == nil) || !errors.Is(errors.Join(errs...), retry.ErrConflict) {
					t.Fatalf("outcomes %v, want one success and one conflict", errs)
				}
			}
			if n := b.count("outbox_dead_letter") + b.count("outbox_batch"); n != 20 {
				t.Errorf("%d ends of 20 events", n)
			}
			if n := b.count("outbox_retry"); n != 0 {
				t.Errorf("%d events wait still", n)
			}
		})
	}
}

func TestNothingCountedWhenAClaimIsLetGo(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.waiting("", "retry_scheduled")
	c := b.claimOne()
	if err := b.LetGo(t.Context(), c, time.Hour); err != nil {
		t.Fatal(err)
	}
	if got := b.claim(10); len(got) != 0 {
		t.Errorf("claimed %+v during the pause", got)
	}
	b.due(id)
	if again := b.claimOne(); again.Attempts != c.Attempts {
		t.Errorf("attempts are %d, want %d", again.Attempts, c.Attempts)
	}
}
