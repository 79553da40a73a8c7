package facts_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/consumers/facts"
)

// TestKeyRefusesWhatChangesBetweenDeliveries: time, chance, attempts, event ids.
func TestKeyRefusesWhatChangesBetweenDeliveries(t *testing.T) {
	t.Parallel()
	for name, parts := range map[string][]facts.Part{
		"nothing":            nil,
		"empty":              {facts.ID("refund", "")},
		"a name of time":     {facts.ID("received_at", "x")},
		"now":                {facts.ID("replay_re_1_now", "x")},
		"an attempt":         {facts.ID("attempt", "3")},
		"a delivery":         {facts.ID("delivery_count", "3")},
		"an event id":        {facts.ID("event_id", "x")},
		"chance":             {facts.ID("nonce", "x")},
		"a time as an id":    {facts.ID("refund", "2026-01-31T10:00:00Z")},
		"a time with nanos":  {facts.ID("refund", "2026-01-31T10:00:00.123456789+01:00")},
		"a time as a day":    {facts.Date("start", "2026-01-31T10:00:00Z")},
		"no such day":        {facts.Date("start", "2026-02-30")},
		"a name with spaces": {facts.ID("re fund", "x")},
		"too long":           {facts.ID("refund", strings.Repeat("x", 513))},
		"NUL":                {facts.ID("refund", "a\x00b")},
	} {
		var refused *facts.KeyError
		if key, err := facts.NewKey(parts...); !errors.As(err, &refused) || refused.Hint() == "" {
			t.Errorf("%s: key is %q, %v", name, key, err)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	key := func(parts ...facts.Part) facts.Key {
		t.Helper()
		k, err := facts.NewKey(parts...)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	if got := key(facts.ID("member", "m_1"), facts.Date("start", "2026-01-31")).String(); got != "member=m_1/start=2026-01-31" {
		t.Errorf("key is %q", got)
	}
	if one, two := key(facts.ID("a", "1/b=2")), key(facts.ID("a", "1"), facts.ID("b", "2")); one == two {
		t.Errorf("two lists of parts make one key: %q", one)
	}
	one, err := facts.ReversalKey(key(facts.ID("refund", "re_1")), "7")
	if err != nil {
		t.Fatal(err)
	}
	if two, err := facts.ReversalKey(key(facts.ID("refund", "re_1")), "8"); err != nil || one == two {
		t.Errorf("two duplicates have one reversal: %q, %v", one, err)
	}
}

// TestKeyWithTheIDOfItsEvent: the id is another one when the fact is told again.
func TestKeyWithTheIDOfItsEvent(t *testing.T) {
	t.Parallel()
	db := database(t)
	var refused *facts.FactError
	if _, err := claim(t.Context(), db, facts.Told{Source: "/shop", ID: "evt=1"}, refund(t, "evt=1")); !errors.As(err, &refused) || refused.Field != "key" {
		t.Errorf("error is %v", err)
	}
	empty := refund(t, "re_1")
	empty.Account = ""
	if _, err := claim(t.Context(), db, told, empty); !errors.As(err, &refused) || refused.Field != "account" {
		t.Errorf("error is %v", err)
	}
}
