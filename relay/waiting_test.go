package relay_test

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/relay/retry"
)

// TestRefusalIsSettledWholeOrNotAtAll: when the waiting set does not take a refused event as it was
// meant, the cursor does not move past it; once it does, the rows are as they should be.
func TestRefusalIsSettledWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	trigger := func(body string) string {
		return `CREATE FUNCTION public.meddle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ` + body + ` END $$;
			CREATE TRIGGER meddle BEFORE INSERT ON outbox.outbox_retry FOR EACH ROW EXECUTE FUNCTION public.meddle()`
	}
	const drop = "DROP TRIGGER meddle ON outbox.outbox_retry"
	for _, c := range []struct{ name, spoil, mend, said string }{
		{"a trigger swallows it", trigger("RETURN NULL;"), drop, "kept 0 of 2 events"},
		{"a trigger swallows a part", trigger("IF NEW.work_kind = 'parked' THEN RETURN NULL; END IF; RETURN NEW;"), drop, "kept 1 of 2 events"},
		{"a trigger rewrites it", trigger("NEW.event_id := 'another'; RETURN NEW;"), drop, "kept 0 of 2 events"},
		{"a trigger leases it", trigger("NEW.lease_owner := 'w'; NEW.lease_token := gen_random_uuid(); NEW.lease_until := 'infinity'; RETURN NEW;"), drop, "kept 0 of 2 events"},
		{
			"a constraint forbids it", "ALTER TABLE outbox.outbox_retry ADD CONSTRAINT meddle CHECK (work_kind <> 'parked') NOT VALID",
			"ALTER TABLE outbox.outbox_retry DROP CONSTRAINT meddle", "SQLSTATE 23514",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t)
			s.limitMessages(4096)
			p := s.start(func(c *relayConfig) {
				c.Retry = retry.Policy{MaxRetries: 100, Initial: time.Hour, Max: time.Hour}
			})
			s.stage("before", 1)
			s.eventually("the relay drains", func() bool { return s.settled() == 1 })
			s.exec(c.spoil)
			poison := s.stageTogether(large("k", 10_000), events("k", 1)[0])[0]
			s.eventually("the settle fails and says why", func() bool { return strings.Contains(p.logs.String(), c.said) })
			const passed = `SELECT bool_or(pg_visible_in_snapshot(e.tx, l.drained)) FROM outbox.event_outbox e
				JOIN outbox.outbox_lane l ON l.lane = e.lane WHERE e.partition_key = 'k'`
			if query[bool](s, passed) || query[int64](s, "SELECT count(*) FROM outbox.outbox_retry") != 0 {
				t.Error("the cursor moved past an event that does not wait, or a part of it was settled")
			}
			s.exec(c.mend)
			s.eventually("both events wait", func() bool {
				return query[int64](s, "SELECT count(*) FROM outbox.outbox_retry") == 2
			})
			sound := query[bool](s, `SELECT bool_and(row_version = 0 AND requeue_epoch = 0 AND num_nonnulls(lease_owner, lease_token, lease_until) = 0 AND
				CASE event_id WHEN $1 THEN work_kind = 'retry_scheduled' AND attempts = 1 AND reason_code = 'message_too_large'
				                        AND next_visible_at BETWEEN clock_timestamp() + interval '50 min' AND clock_timestamp() + interval '60 min'
				              ELSE work_kind = 'parked' AND attempts = 0 AND num_nonnulls(reason_code, reason_detail_sha256) = 0
				                   AND next_visible_at = 'infinity' END) FROM outbox.outbox_retry`, poison)
			if !sound {
				t.Errorf("the waiting rows: %s", query[string](s, "SELECT string_agg(r::text, ' ') FROM outbox.outbox_retry r"))
			}
		})
	}
}
