package registry

import (
	"bytes"
	"testing"
)

// TestSealedFactOpensWithItsKeyOnly: not with another key, not in another place, not when it was changed,
// and so not at all once its key is destroyed.
func TestSealedFactOpensWithItsKeyOnly(t *testing.T) {
	t.Parallel()
	secret, label, text := newSecret(), []byte("place"), []byte(`{"name":"Ada"}`)
	sealed, err := seal(secret, label, text)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := seal(secret, label, text); err != nil || bytes.Equal(again, sealed) {
		t.Errorf("the same text is sealed to the same bytes: %v", err)
	}
	if got, err := open(secret, label, sealed); err != nil || !bytes.Equal(got, text) {
		t.Errorf("opened as %q, %v", got, err)
	}
	if bytes.Contains(sealed, []byte("Ada")) {
		t.Error("the name can be read")
	}
	changed := bytes.Clone(sealed)
	changed[len(changed)-1] ^= 1
	for name, try := range map[string]func() ([]byte, error){
		"another key":   func() ([]byte, error) { return open(newSecret(), label, sealed) },
		"another place": func() ([]byte, error) { return open(secret, []byte("elsewhere"), sealed) },
		"changed":       func() ([]byte, error) { return open(secret, label, changed) },
		"cut":           func() ([]byte, error) { return open(secret, label, sealed[:5]) },
		"destroyed":     func() ([]byte, error) { return open(nil, label, sealed) },
	} {
		if got, err := try(); err == nil {
			t.Errorf("%s: opened as %q", name, got)
		}
	}
}
