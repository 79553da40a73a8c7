package main

import (
	"embed"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/holdfast-dev/holdfast/consumers/consumerstest"
	"github.com/holdfast-dev/holdfast/e2e/overlay"
	"github.com/holdfast-dev/holdfast/e2e/payments/wallet"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

//go:embed points/*.point
var pointFiles embed.FS

func points() ([]overlay.Point, error) { return overlay.Points(pointFiles, "points") }

// crash is a way to die.
type crash struct {
	point string
	nth   int    // which time it is reached; 0 is the first
	table string // a line of the crash table that is not that of the point
	batch bool   // several events share a transaction
	// between is what happens before another process goes on.
	between func(*site)
}

// crashes are all that are tried.
var crashes = []crash{
	{point: "consumer-made"},
	{point: "transaction-begun", nth: 9},
	{point: "fact-claimed", nth: 7},
	{point: "effect-written", nth: 11},
	{point: "commit-due", nth: 8},
	{point: "commit-sent", nth: 10},
	{point: "committed", nth: 6},
	{point: "committed", nth: 12, table: "after the commit, and the inbox is pruned, years later", between: (*site).yearsPass},
	{point: "effect-proven", nth: 13},
	{point: "acknowledged", nth: 14},
	{point: "commit-due", batch: true},
	{point: "commit-sent", batch: true},
	{point: "committed", batch: true},
	{point: "effect-proven", batch: true},
	{point: "acknowledgement-sent", batch: true},
	{point: "quarantined"},
	{point: "attempt-failed", nth: 2},
	{point: "attempt-counted", nth: 3},
	{point: "dead-letter-due"},
	{point: "dead-letter-due", nth: 2},
	{point: "dead-letter-written"},
	{point: "dead-letter-written", nth: 2},
	{point: "given-up"},
}

// TestCrashPoints has the wallet die at each point under load, lets another pod take over, and counts all that
// was written.
func TestCrashPoints(t *testing.T) {
	t.Parallel()
	tree, err := overlay.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, err := points()
	if err != nil {
		t.Fatal(err)
	}
	files, err := tree.Plant(list)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	binary := filepath.Join(dir, "payments")
	if err := tree.Build(t.Context(), dir, binary, "./e2e/payments", files); err != nil {
		t.Fatal(err)
	}
	for _, c := range crashes {
		t.Run(c.name(), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, outboxtest.NewDatabase(t))
			s.webhook(paid(3)) // so that it is known before the event that differs, whatever comes again when
			s.load(0, 20)
			if c.batch {
				s.service = append(s.service, "-batch", "8")
			}
			doomed := s.startFrom(binary, "doomed", "wallet", "HOLDFAST_CRASH_AT="+c.point, "HOLDFAST_CRASH_NTH="+strconv.Itoa(max(c.nth, 1)))
			n := s.loadUntilEnd(doomed, 20)
			doomed.dies(c.point)
			if c.between != nil {
				c.between(s)
			}
			heir := s.startFrom(binary, "heir", "wallet")
			s.load(n, n+10)
			s.settled("wallet")
			heir.stop()
			s.wantLoad(n+10, 1)
		})
	}
}

func (c crash) name() string {
	name := c.point + "/" + strconv.Itoa(max(c.nth, 1))
	if c.batch {
		name += " in a batch"
	}
	return name
}

// webhook applies an event without the broker, as another writer of the same effects does.
func (s *site) webhook(e event.Event) {
	s.t.Helper()
	consumerstest.Deliver(s.t, s.db.Pool, wallet.Handle, wallet.Config(streamName), e)
}

// message is an event and the key of its order.
type message struct {
	event.Event
	key string
}

// messages are the events of payment n: in both types, and one of them again; refunds; the same fact in another way;
// and what can't be handled, of a wallet whose other events have to go on.
func messages(n int) []message {
	both := []event.Event{paid(n), charged(n)}
	list := []message{{both[n%2], walletOf(n)}, {both[1-n%2], ""}, {both[n%2], walletOf(n)}}
	if n%5 == 0 {
		list = append(list, message{refunded(n), walletOf(n)})
	}
	if n == 3 {
		list = append(list,
			message{tell("evt_mismatch", wallet.ChargeSucceeded, wallet.Told{ID: "ch_3", Payment: "pi_3", Wallet: walletOf(n), Cents: 1, Currency: "EUR"}), walletOf(n)},
			message{tell("evt_broken", wallet.PaymentSucceeded, "no payment"), walletOf(n)},
			message{tell("evt_poison", wallet.PaymentSucceeded, wallet.Told{ID: "pi_poison", Wallet: walletOf(n), Cents: -1, Currency: "EUR"}), walletOf(n)})
	}
	return list
}

// load publishes the events of some payments.
func (s *site) load(from, to int) {
	s.t.Helper()
	for n := from; n < to; n++ {
		for _, m := range messages(n) {
			s.publish(m.Event, m.key)
		}
	}
}

// loadUntilEnd publishes payments from n on until a process has ended, whenever it has handled all that are there: what
// is delivered again after a pause of the machine is handled alone, so the first ones may not reach its end. It
// returns the number of the next payment.
func (s *site) loadUntilEnd(p *process, n int) int {
	s.t.Helper()
	for {
		s.eventually(p.name+" ends, or has nothing left", func() bool {
			c, err := s.js.Consumer(s.t.Context(), streamName, "wallet")
			return !p.proc.Running() || err == nil && c.CachedInfo().NumPending == 0 && c.CachedInfo().NumAckPending == 0
		})
		if !p.proc.Running() {
			return n
		}
		s.load(n, n+10)
		n += 10
	}
}

// wantLoad wants what the messages of n payments lead to, which were all published so many times. A dead
// letter is about a message, and a quarantine about an event.
func (s *site) wantLoad(n, times int) {
	s.t.Helper()
	s.wantWallets(n + (n+4)/5)
	got := query[string](s, `SELECT string_agg(DISTINCT concat_ws(' ', event_id, reason_code), ', ') || ': ' || count(*) FROM outbox.consumer_dead_letter
		WHERE attempts >= CASE reason_code WHEN 'exhausted' THEN 10 ELSE 1 END`)
	if want := fmt.Sprint("evt_broken permanent, evt_poison exhausted: ", 2*times); got != want {
		s.t.Errorf("dead letters are %q, want %q", got, want)
	}
	if got := query[string](s, "SELECT string_agg(event_id || ' ' || state, ', ') FROM outbox.consumer_quarantine"); got != "evt_mismatch open" {
		s.t.Errorf("quarantine has %q", got)
	}
	s.wantCalm()
}

// wantCalm wants neither a unique violation nor a deadlock in the log of the server, also none that
// somebody caught. Batches that claim one by one may wait for each other, and are handled alone then.
func (s *site) wantCalm() {
	s.t.Helper()
	log := s.db.ServerLog(s.t)
	if strings.Contains(log, "sqlstate=23505") || strings.Contains(log, "sqlstate=40P01") && len(s.service) == 0 {
		s.t.Errorf("the server logged violations or deadlocks:\n%s", log)
	}
}

// yearsPass makes the inbox older than it is kept, and waits until a pod has removed it.
func (s *site) yearsPass() {
	s.t.Helper()
	s.pause("a long time")
	s.exec("UPDATE outbox.consumer_inbox SET received_at = now() - interval '5 years', processed_at = now() - interval '5 years'")
	p := s.start("pruner", "wallet")
	s.eventually("the inbox is pruned", func() bool { return query[int](s, "SELECT count(*) FROM outbox.consumer_inbox") == 0 })
	p.stop()
	s.resume()
}

func TestEveryLineOfTheCrashTableHasAPoint(t *testing.T) {
	t.Parallel()
	list, err := points()
	if err != nil {
		t.Fatal(err)
	}
	tree, err := overlay.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lines, err := tree.CrashTable("consumers/doc.go")
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]bool{}
	for _, c := range crashes {
		has[c.table] = true
	}
	for _, p := range list {
		has[p.Table] = true
		if !slices.ContainsFunc(crashes, func(c crash) bool { return c.point == p.Name }) {
			t.Errorf("no consumer dies at %s", p.Name)
		}
	}
	delete(has, "")
	for _, line := range lines {
		if !has[line] {
			t.Errorf("no consumer dies %q", line)
		}
		delete(has, line)
	}
	for line := range has {
		t.Errorf("the crash table has no line %q", line)
	}
}
