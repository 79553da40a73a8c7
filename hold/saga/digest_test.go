package saga_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/hold/receipt"
	"github.com/holdfast-dev/holdfast/hold/saga"
)

func keys(t testing.TB) *saga.Keys {
	t.Helper()
	k, err := saga.NewKeys("a", map[string][]byte{"a": bytes.Repeat([]byte{1}, 32), "b": bytes.Repeat([]byte{2}, 32)})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func sum(t testing.TB, k *saga.Keys, kind string, request any) string {
	t.Helper()
	d, err := k.Digest(kind, request)
	if err != nil {
		t.Fatal(err)
	}
	return string(d.Sum())
}

// TestDigestTellsRequestsApart: whatever differs in them, and nothing else.
func TestDigestTellsRequestsApart(t *testing.T) {
	t.Parallel()
	k := keys(t)
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	same := [][2]any{
		{raw(`{"a": 1, "b": [true, null]}`), raw(`{"b":[true,null],"a":1}`)},
		{order{"Ada", "1.50"}, raw(`{"amount":"1.50","name":"Ada"}`)},
		{raw(`"A"`), raw(`"\u0041"`)},
		{map[string]int{"x": 1, "y": 2}, map[string]int{"y": 2, "x": 1}},
	}
	for _, pair := range same {
		if sum(t, k, "k", pair[0]) != sum(t, k, "k", pair[1]) {
			t.Errorf("%s and %s differ", pair[0], pair[1])
		}
	}
	all := []any{
		raw(`{}`), raw(`[]`), raw(`null`), raw(`""`), raw(`0`), raw(`false`), raw(`true`), raw(`"0"`), raw(`"null"`),
		raw(`{"a":null}`), raw(`{"a":""}`), raw(`{"a":0}`), raw(`{"a":1.50}`), raw(`{"a":1.5}`), raw(`{"a":15e-1}`), raw(`{"a":"1.50"}`),
		raw(`{"a":1,"b":2}`), raw(`{"a":2,"b":1}`), raw(`{"a":{"b":2}}`), raw(`{"ab":2}`), raw(`[1,2]`), raw(`[2,1]`), raw(`[[1],2]`), raw(`[[1,2]]`),
		raw(`["a","b"]`), raw(`["ab"]`), raw(`["a b"]`), raw(`[{"a":1},{"b":2}]`), raw(`[{"a":1,"b":2}]`), raw(`{"A":1,"b":2}`),
	}
	for i, a := range all {
		for _, b := range all[:i] {
			if sum(t, k, "k", a) == sum(t, k, "k", b) {
				t.Errorf("%s and %s are the same", a, b)
			}
		}
	}
	if sum(t, k, "k", 1) == sum(t, k, "l", 1) {
		t.Error("two kinds are the same")
	}
}

// TestDigestIsTheOneOfBefore: operations are resumed by later releases, so it never changes.
func TestDigestIsTheOneOfBefore(t *testing.T) {
	t.Parallel()
	got := sum(t, keys(t), "order.finalize", json.RawMessage(`{"name":"Ada","amounts":["1.50",1.50,null,true],"none":{}}`))
	if want := "02f188acd79bbbd284cee9d5005bb8b35876de41830be980620a51540a9731c1"; hex.EncodeToString([]byte(got)) != want {
		t.Errorf("digest is %x, want %s", got, want)
	}
}

func TestRequestsThatCannotBeDigested(t *testing.T) {
	t.Parallel()
	for _, request := range []any{
		json.RawMessage(`{"a":1,"a":2}`), json.RawMessage(`{"a":`), "\xff", map[string]string{"\xff": ""}, make(chan int),
		json.RawMessage(strings.Repeat("[", 2000) + strings.Repeat("]", 2000)),
	} {
		if _, err := keys(t).Digest("k", request); err == nil {
			t.Errorf("%v: no error", request)
		}
	}
}

// TestDigestProperty: the same request has the same digest, in any order of its fields; one changed
// field gives another, under each key.
func TestDigestProperty(t *testing.T) {
	t.Parallel()
	k := keys(t)
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.Just[any](nil), rapid.Map(rapid.String(), asAny), rapid.Map(rapid.Int(), asAny), rapid.Map(rapid.Bool(), asAny),
			rapid.Map(rapid.SliceOf(rapid.String()), asAny))
		fields := rapid.MapOfN(rapid.StringMatching(`[a-z]{1,4}`), value, 1, 6).Draw(t, "fields")
		d, err := k.Digest("k", fields)
		if err != nil {
			t.Fatal(err)
		}
		reordered := map[string]any{}
		for name, v := range fields {
			reordered[name] = v
		}
		again, err := k.Digest("k", reordered)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"a", "b"} {
			if same, err := d.Matches(key, again.Sum()); err != nil || same != (key == "a") {
				t.Fatalf("matches under %s: %v, %v", key, same, err)
			}
		}
		name := rapid.SampledFrom(sortedNames(fields)).Draw(t, "name")
		changed := value.Draw(t, "changed")
		before, _ := json.Marshal(fields[name])
		after, err := json.Marshal(changed)
		if err != nil || string(before) == string(after) {
			return
		}
		reordered[name] = changed
		other, err := k.Digest("k", reordered)
		if err != nil {
			return
		}
		if same, _ := d.Matches("a", other.Sum()); same {
			t.Fatalf("%s: %s and %s have the same digest", name, before, after)
		}
		delete(reordered, name)
		if other, err = k.Digest("k", reordered); err != nil {
			return
		}
		if same, _ := d.Matches("a", other.Sum()); same {
			t.Fatalf("%s is left out and has the same digest", name)
		}
	})
}

func asAny[T any](v T) any { return v }

func sortedNames(fields map[string]any) []string {
	var names []string
	for name := range fields {
		names = append(names, name)
	}
	// rapid draws by position, so the order must be the same in every run.
	for i := range names {
		for j := i; j > 0 && names[j] < names[j-1]; j-- {
			names[j], names[j-1] = names[j-1], names[j]
		}
	}
	return names
}

func TestKeysAreChecked(t *testing.T) {
	t.Parallel()
	good := make([]byte, 32)
	for name, c := range map[string]struct {
		current string
		secrets map[string][]byte
	}{
		"none":           {"a", nil},
		"not among them": {"a", map[string][]byte{"b": good}},
		"short":          {"a", map[string][]byte{"a": good[:31]}},
		"no id":          {"", map[string][]byte{"": good}},
		"long id":        {"a", map[string][]byte{"a": good, strings.Repeat("x", 65): good}},
	} {
		if _, err := saga.NewKeys(c.current, c.secrets); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestStepKeyRoundTrip: each key has one text, and each text that is a key reads back as it.
func TestStepKeyRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var key saga.StepKey
		var err error
		name := rapid.StringMatching(`[a-z][a-z0-9_.-]{0,40}`).Draw(t, "name")
		if rapid.Bool().Draw(t, "indexed") {
			key, err = receipt.Indexed(name, rapid.IntRange(0, 999_999_999).Draw(t, "index"))
		} else {
			key, err = receipt.Named(name)
		}
		if err != nil {
			t.Fatal(err)
		}
		if back, err := receipt.ParseStepKey(key.String()); err != nil || back != key {
			t.Fatalf("%s reads back as %s, %v", key, back, err)
		}
		text := rapid.StringMatching(`[a-z0-9_.:-]{0,12}`).Draw(t, "text")
		if read, err := receipt.ParseStepKey(text); err == nil && read.String() != text {
			t.Fatalf("%q is written as %s", text, read)
		}
	})
}
