package main

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPlanDependsOnItsArgumentsAlone(t *testing.T) {
	t.Parallel()
	for _, s := range []setup{single, cluster} {
		one := plan(7, s, time.Minute, nil)
		if diff := cmp.Diff(one, plan(7, s, time.Minute, nil)); diff != "" {
			t.Errorf("%s: two plans of one seed differ:\n%s", s, diff)
		}
		if cmp.Equal(one, plan(8, s, time.Minute, nil)) {
			t.Errorf("%s: two seeds have the same plan", s)
		}
		shorter := plan(7, s, 20*time.Second, nil)
		if diff := cmp.Diff(one[:len(shorter)], shorter); diff != "" {
			t.Errorf("%s: a shorter plan is not the beginning of a longer one:\n%s", s, diff)
		}
	}
	if cmp.Equal(plan(7, single, time.Minute, nil)[0], plan(7, cluster, time.Minute, nil)[0]) {
		t.Error("the set-ups have the same plan")
	}
}

func TestPlanHasEveryKind(t *testing.T) {
	t.Parallel()
	for _, s := range []setup{single, cluster} {
		steps := plan(1, s, time.Hour, nil)
		for _, w := range weights {
			has := slices.ContainsFunc(steps, func(step Step) bool { return step.Kind == w.kind })
			if want := w.setup == "" || w.setup == s; has != want {
				t.Errorf("%s: %s is in the plan: %t", s, w.kind, has)
			}
		}
		if n := len(steps); n < 9000 || n > 12000 {
			t.Errorf("%s: %d faults an hour", s, n)
		}
		if !slices.IsSortedFunc(steps, func(a, b Step) int { return int(a.At - b.At) }) {
			t.Errorf("%s: the plan is not in the order of time", s)
		}
	}
}

func TestPlanHasOnlyWhatIsWanted(t *testing.T) {
	t.Parallel()
	for _, step := range plan(1, single, time.Minute, []Kind{relayKill, ackCut, leaderKill}) {
		if step.Kind != relayKill && step.Kind != ackCut {
			t.Errorf("%s", step)
		}
	}
	if steps := plan(1, single, time.Minute, []Kind{leaderKill}); len(steps) > 0 {
		t.Errorf("a single server has no leader: %v", steps)
	}
}
