package main

import "testing"

// TestAppend: the transactions that are counted are there, with their events and without any.
func TestAppend(t *testing.T) {
	t.Parallel()
	r, _ := testRig(t)
	for _, staging := range []bool{false, true} {
		rate, err := r.append(t.Context(), 50, staging)
		if err != nil || rate <= 0 {
			t.Errorf("staging %v: %v a second, %v", staging, rate, err)
		}
	}
}
