package relay

import "sync/atomic"

// streamEnd is the largest stream sequence that this pod has seen. Safe for concurrent use.
type streamEnd struct{ seq atomic.Uint64 }

func (e *streamEnd) last() uint64 { return e.seq.Load() }

// advance notes a sequence that was acknowledged.
func (e *streamEnd) advance(seq uint64) {
	for {
		have := e.seq.Load()
		if seq <= have || e.seq.CompareAndSwap(have, seq) {
			return
		}
	}
}

// regress notes where the stream ends, as asked of the broker after known was taken. It
// reports whether the stream went back: it was made anew, or restored from a copy.
func (e *streamEnd) regress(known, last uint64) bool {
	return last < known && e.seq.CompareAndSwap(known, last)
}
