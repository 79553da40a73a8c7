package main

import (
	"bytes"
	"testing"
)

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"shop"}, {"wallet", "-what"}} {
		var stderr bytes.Buffer
		if status := run(t.Context(), args, &stderr); status != exitUsage || stderr.Len() == 0 {
			t.Errorf("%q: status %d, stderr %q", args, status, &stderr)
		}
	}
}
