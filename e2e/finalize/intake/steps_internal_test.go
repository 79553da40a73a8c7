package intake

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/hold/receipt"
	"github.com/holdfast-dev/holdfast/hold/saga"
)

// forms are random forms that can be meant.
func forms(t *rapid.T) Form {
	f := Form{Address: rapid.StringN(1, 20, -1).Draw(t, "address"), Consent: true}
	for i := range rapid.IntRange(1, 5).Draw(t, "members") {
		f.Members = append(f.Members, Member{Name: fmt.Sprint("member ", i), Born: "2000-01-01", Role: "child"})
	}
	amounts := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Amount {
		return Amount{Owner: rapid.IntRange(0, len(f.Members)-1).Draw(t, "owner"), Kind: "wage", Amount: rapid.SampledFrom([]string{"1.5", "1.50"}).Draw(t, "amount")}
	}), 0, 6)
	f.Incomes, f.Assets = amounts.Draw(t, "incomes"), amounts.Draw(t, "assets")
	return f
}

// sent are the calls of a run that begins behind some recorded steps, by their keys: path and body. The
// registry answers with an id for each key.
func sent(t *rapid.T, form Form, recorded map[string]string) (keys []string, bodies map[string]string) {
	bodies = map[string]string{}
	p := &plan{send: func(_ context.Context, c saga.Call, path string, body entry) (string, error) {
		text, err := json.Marshal(body)
		bodies[c.Key.String()] = path + " " + string(text)
		return "id of " + c.Key.String(), err
	}}
	p.form(form, basis{Today: "2026-11-30"})
	for _, step := range p.steps {
		key := step.Key.String()
		if parsed, err := receipt.ParseStepKey(key); err != nil || parsed != step.Key {
			t.Fatalf("%s is read as %s, %v", key, parsed, err)
		}
		keys = append(keys, key)
		if _, done := recorded[key]; done {
			continue
		}
		id, err := step.Do(t.Context(), saga.Call{Key: step.Key, Remote: recorded})
		if err != nil {
			t.Fatal(err)
		}
		recorded[key] = id
	}
	return keys, bodies
}

// TestStepsProperty: keys and bodies follow from the form and the basis alone. However many attempts there
// are, wherever they break off, a step is sent with the same key and the same bytes, in the order of
// the protocol; the digest does not depend on how the document was written.
func TestStepsProperty(t *testing.T) {
	t.Parallel()
	keys, err := saga.NewKeys("k", map[string][]byte{"k": make([]byte, 32)})
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		form := forms(t)
		order, whole := sent(t, form, map[string]string{})
		if want := orderOf(form); !slices.Equal(order, want) {
			t.Fatalf("steps are %v, want %v", order, want)
		}
		// Another attempt, with some of the answers known.
		known := map[string]string{}
		for _, key := range order[:rapid.IntRange(0, len(order)).Draw(t, "recorded")] {
			known[key] = "id of " + key
		}
		_, rest := sent(t, form, known)
		for key, body := range rest {
			if body != whole[key] {
				t.Fatalf("%s is %s, and then %s", key, whole[key], body)
			}
		}
		document, err := json.Marshal(form)
		if err != nil {
			t.Fatal(err)
		}
		first, err := keys.Digest(Kind, json.RawMessage(document))
		if err != nil {
			t.Fatal(err)
		}
		second, err := keys.Digest(Kind, json.RawMessage(shuffled(t, document)))
		if err != nil || !bytes.Equal(first.Sum(), second.Sum()) {
			t.Fatalf("the digest depends on the order of the fields: %v", err)
		}
	})
}

// orderOf is the order of the protocol, said another way.
func orderOf(form Form) []string {
	keys := []string{"person:0", "household", "member:0"}
	for i := range form.Members[1:] {
		keys = append(keys, fmt.Sprintf("person:%d", i+1), fmt.Sprintf("member:%d", i+1))
	}
	for i := range form.Incomes {
		keys = append(keys, fmt.Sprintf("income:%d", i))
	}
	for i := range form.Assets {
		keys = append(keys, fmt.Sprintf("asset:%d", i))
	}
	return keys
}

// shuffled writes the fields of a document in another order, and with spaces.
func shuffled(t *rapid.T, document []byte) []byte {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(document, &fields); err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(fields))
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 0))
	rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	var text bytes.Buffer
	for i, name := range names {
		fmt.Fprintf(&text, "%s %q : %s\n", map[bool]string{true: "{", false: ","}[i == 0], name, fields[name])
	}
	text.WriteString("}")
	var back map[string]json.RawMessage
	if err := json.Unmarshal(text.Bytes(), &back); err != nil || !cmp.Equal(fields, back) {
		t.Fatalf("shuffled: %v", err)
	}
	return text.Bytes()
}
