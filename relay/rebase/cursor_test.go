package rebase_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// TestRandomCursors brings logs with random cursors, of three groups, from cluster to cluster, and
// compares what each group has not drained before and after. The ids of the clusters lie close
// together, so that old ones and new ones overlap. Every round starts from what the one before
// left, so its ids are mixed.
func TestRandomCursors(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	clusters := []*harness.Postgres{outboxtest.Cluster(t), outboxtest.NewCluster(t, harness.PostgresOptions{})}
	a := open(t, outboxtest.NewDatabase(t).URL)
	a.exec("INSERT INTO outbox.outbox_lane (relay_group, lane) SELECT g, l FROM unnest('{b,\"c, d\"}'::text[]) g, generate_series(0, 15) l")
	for round := range 5 {
		a.randomLog(random, round)
		before := a.undrained()
		to := clusters[(round+1)%2]
		if random.IntN(2) == 0 {
			// The new cluster has given out as many ids as the old one.
			next := one[int64](a, "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint")
			open(t, to.URL("postgres")).burn(next - random.Int64N(40))
		}
		b := replicate(t, a, to, random.IntN(2) == 0)
		plan := rebased(t, b)
		after := b.undrained()
		var more int64
		for group, ids := range before {
			for id := range ids {
				if !after[group][id] {
					t.Errorf("round %d: group %s would never publish event %s (seed %d)", round, group, id, seed)
				}
			}
			for id := range after[group] {
				if !ids[id] {
					more++
				}
			}
		}
		if more > 3*plan.StagedHere {
			t.Errorf("round %d: %d events would be published again, and the plan says at most %d for each of 3 groups (seed %d)", round, more, plan.StagedHere, seed)
		}
		t.Logf("round %d: %d groups, %d + %d + %d undrained, %d that may be published again", round, len(plan.Groups),
			plan.Groups[0].Undrained, plan.Groups[1].Undrained, plan.Groups[2].Undrained, more)
		a = b
	}
}

// randomLog commits transactions that overlap, with snapshots taken in between as cursors.
func (s *store) randomLog(random *rand.Rand, round int) {
	s.t.Helper()
	ctx := s.t.Context()
	var open []pgx.Tx
	snapshots := []string{"1:1:"}
	if round > 0 {
		snapshots = nil
	}
	for i := range 80 {
		switch n := random.IntN(4); {
		case len(open) == 0 || n == 0 && len(open) < 5: // connections are left for the others
			tx, err := s.pool.Begin(ctx)
			if err != nil {
				s.t.Fatal(err)
			}
			open = append(open, tx)
		case n <= 1 || len(open) > 3:
			at := random.IntN(len(open))
			if err := open[at].Commit(ctx); err != nil {
				s.t.Fatal(err)
			}
			open = slices.Delete(open, at, at+1)
		default:
			_, err := open[random.IntN(len(open))].Exec(ctx, "SELECT outbox.publish_text('/s', 't', 'x', partitionkey => $1)", fmt.Sprint("k", random.IntN(40)))
			if err != nil {
				s.t.Fatal(err)
			}
		}
		if i > 10 {
			snapshots = append(snapshots, one[string](s, "SELECT pg_current_snapshot()::text"))
		}
	}
	for _, tx := range open {
		if err := tx.Commit(ctx); err != nil {
			s.t.Fatal(err)
		}
	}
	// What is drained in the cursor of now stays drained.
	rows, err := s.pool.Query(ctx, "SELECT relay_group, lane FROM outbox.outbox_lane")
	if err != nil {
		s.t.Fatal(err)
	}
	type cursor struct {
		Group string
		Lane  int16
	}
	cursors, err := pgx.CollectRows(rows, pgx.RowToStructByPos[cursor])
	if err != nil {
		s.t.Fatal(err)
	}
	for _, c := range cursors {
		switch random.IntN(3) {
		case 0:
			s.exec("UPDATE outbox.outbox_lane SET drained = $3 WHERE relay_group = $1 AND lane = $2", c.Group, c.Lane, snapshots[random.IntN(len(snapshots))])
		case 1:
			first := random.IntN(len(snapshots))
			second := first + random.IntN(len(snapshots)-first)
			s.exec(`UPDATE outbox.outbox_lane SET drained = $3, target = $4, pos = (SELECT min(seq) + $5 FROM outbox.event_outbox)
				WHERE relay_group = $1 AND lane = $2`, c.Group, c.Lane, snapshots[first], snapshots[second], random.IntN(150))
		}
	}
}

// undrained returns the events that each group has not drained.
func (s *store) undrained() map[string]map[string]bool {
	s.t.Helper()
	rows, err := s.pool.Query(s.t.Context(), `SELECT l.relay_group, e.event_id FROM outbox.outbox_lane l JOIN outbox.event_outbox e ON e.lane = l.lane
		WHERE NOT pg_visible_in_snapshot(e.tx, l.drained) AND NOT coalesce(pg_visible_in_snapshot(e.tx, l.target) AND e.seq <= l.pos, false)`)
	if err != nil {
		s.t.Fatal(err)
	}
	found := map[string]map[string]bool{}
	var group, id string
	if _, err := pgx.ForEachRow(rows, []any{&group, &id}, func() error {
		if found[group] == nil {
			found[group] = map[string]bool{}
		}
		found[group][id] = true
		return nil
	}); err != nil {
		s.t.Fatal(err)
	}
	return found
}
