package round_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast/hold/internal/round"
)

// TestOldNumbersAreNotShown: nor those that were never measured.
func TestOldNumbersAreNotShown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l round.Latest[int]
		if _, _, fresh := l.Get(); fresh {
			t.Error("there is a number before the first")
		}
		for want := range 2 {
			l.Keep(want, time.Minute)
			time.Sleep(time.Minute - 1)
			if got, age, fresh := l.Get(); got != want || age != time.Minute-1 || !fresh {
				t.Errorf("number is %d, %s old, fresh %v", got, age, fresh)
			}
			time.Sleep(time.Nanosecond)
			if _, _, fresh := l.Get(); fresh {
				t.Error("it is shown when it is old")
			}
		}
	})
}

// TestFaultsAreBounded: ten are kept, and the number of the others.
func TestFaultsAreBounded(t *testing.T) {
	t.Parallel()
	var none round.Faults
	if err := none.Join(); err != nil {
		t.Errorf("without faults: %v", err)
	}
	var all round.Faults
	first := errors.New("the first")
	all.Add(first)
	for i := range 99 {
		all.Add(fmt.Errorf("another %d", i))
	}
	err := all.Join()
	if !errors.Is(err, first) || strings.Count(err.Error(), "\n") != 10 || !strings.HasSuffix(err.Error(), "\n90 more errors") {
		t.Errorf("error is %v", err)
	}
}
