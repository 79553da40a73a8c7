package receipt_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/hold/receipt"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

func TestEveryKeyIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z][a-z0-9_.-]{0,30}`).Draw(t, "name")
		key, err := receipt.Named(name)
		wantIndex, indexed := 0, rapid.Bool().Draw(t, "indexed")
		if indexed {
			wantIndex = rapid.OneOf(rapid.IntRange(0, 20), rapid.IntRange(0, 999_999_999)).Draw(t, "index")
			key, err = receipt.Indexed(name, wantIndex)
		}
		if err != nil {
			t.Fatalf("make: %v", err)
		}
		index, has := key.Index()
		if key.Name() != name || index != wantIndex || has != indexed || key.IsZero() {
			t.Fatalf("key %q has name %q and index %d, %v", key, key.Name(), index, has)
		}
		again, err := receipt.ParseStepKey(key.String())
		if err != nil || again != key {
			t.Fatalf("%q is read as %q with error %v", key, again, err)
		}
	})
}

// A text that is read is the text that is written: one key has no two texts.
func TestEveryTextThatIsReadIsWrittenAsItWas(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := keyLike().Draw(t, "text")
		key, err := receipt.ParseStepKey(text)
		if err == nil && key.String() != text {
			t.Fatalf("%q is written as %q", text, key)
		}
		if err != nil && !key.IsZero() {
			t.Fatalf("%q is refused and gives %q", text, key)
		}
	})
}

// keyLike makes texts that are keys, or nearly so.
func keyLike() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`[a-z][a-z0-9_.-]{0,8}(:(0|[1-9][0-9]{0,9}))?`),
		rapid.StringMatching(`[a-zA-Z0-9_. :+-]{0,8}(:[-+0-9 ]{0,11})?\n?`),
		rapid.String(),
	)
}

// The grammar here and the one of the table accept the same texts.
func TestKeysAreTheOnesThatTheDatabaseTakes(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	var constraint string
	err := db.Pool.QueryRow(t.Context(), `
		SELECT pg_get_constraintdef(oid) FROM pg_constraint
		 WHERE conrelid = 'outbox.hold_receipt'::regclass AND contype = 'c' AND pg_get_constraintdef(oid) LIKE '%step_key%'`).Scan(&constraint)
	if err != nil {
		t.Fatalf("read the constraint: %v", err)
	}
	condition, isCheck := strings.CutPrefix(constraint, "CHECK ")
	if !isCheck {
		t.Fatalf("constraint is %s", constraint)
	}
	accepts := func(text string) bool {
		var ok bool
		if err := db.Pool.QueryRow(t.Context(), `SELECT `+condition+` FROM (SELECT $1::text AS step_key) AS r`, text).Scan(&ok); err != nil {
			t.Fatalf("ask about %q: %v", text, err)
		}
		return ok
	}
	agree := func(fatalf func(string, ...any), text string) {
		if strings.Contains(text, "\x00") {
			return // no text for Postgres
		}
		_, err := receipt.ParseStepKey(text)
		if got := accepts(text); got != (err == nil) {
			fatalf("the database takes %q: %v; here: %v", text, got, err)
		}
	}
	a := strings.Repeat("a", 200)
	for _, text := range []string{"", "a", ":", "a:", "a:0", "a:00", "a:01", "a:-1", "a:+1", "a:1:2", "a:999999999", "a:1000000000",
		"a:99999999999999999999", "A", "ä", "1a", "-a", "a-", "a.b", "a b", "a\n", "a:1\n", a, a + "a", a[:197] + ":10", a[:198] + ":10"} {
		agree(t.Errorf, text)
	}
	rapid.Check(t, func(rt *rapid.T) { agree(rt.Fatalf, keyLike().Draw(rt, "text")) })
}

func TestBadKeysSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	for text, problem := range map[string]string{
		"":                       `name`,
		"Person":                 `name`,
		"person:x":               `index`,
		"person:1000000000":      `index`,
		strings.Repeat("a", 201): `201 bytes`,
	} {
		_, err := receipt.ParseStepKey(text)
		wantArgument(t, err, "step_key")
		if !regexp.MustCompile(problem).MatchString(err.Error()) {
			t.Errorf("error for %q is %v, want something about %s", text, err, problem)
		}
	}
	_, err := receipt.Indexed("person", -1)
	wantArgument(t, err, "step_key")
}
