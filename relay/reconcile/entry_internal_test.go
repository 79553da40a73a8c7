package reconcile

import (
	"testing"
	"unsafe"
)

// The memory of a comparison is the number of events times this.
func TestEntriesAreSmall(t *testing.T) {
	t.Parallel()
	if size := unsafe.Sizeof(event{}); size != 48 {
		t.Errorf("an entry has %d bytes, want 48", size)
	}
}

func TestParseID(t *testing.T) {
	t.Parallel()
	const id = "dtC3j7zE18oLRKchZVdDbuxcQvXCgcMvhWor1W7fFHI"
	for text, want := range map[string]struct{ replayed, ours bool }{
		id: {ours: true}, id + ".r7": {replayed: true, ours: true}, id + ".r": {}, id + ".r7a": {}, id + "x": {}, "": {},
		id[1:]: {}, id[:42] + "*": {}, "order-1": {},
	} {
		k, replayed, ours := parseID(text)
		if replayed != want.replayed || ours != want.ours || ours != (k != key{}) {
			t.Errorf("%q: %+v, replayed %t, ours %t", text, k, replayed, ours)
		}
	}
}
