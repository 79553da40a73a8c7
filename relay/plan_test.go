package relay_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/relay"
)

// TestReadsUseTheirIndexesHoweverStaleTheStatisticsAre caches the plans while the log is empty,
// fills the log in bulk and without a vacuum, and looks at what the cached plans do.
func TestReadsUseTheirIndexesHoweverStaleTheStatisticsAre(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	s := &setup{t: t, db: db}
	for slot := range 4 {
		s.exec(fmt.Sprintf("ALTER TABLE outbox.event_outbox_%d SET (autovacuum_enabled = off)", slot))
	}
	var planners []*planner
	for _, mode := range []string{"auto", "force_generic_plan", "force_custom_plan"} {
		p := newPlanner(t, db, mode)
		planners = append(planners, p)
		for range 6 { // the sixth execution may use a generic plan, which is cached
			for name := range planned {
				p.run(name, p.args(name, "1:1:", 0))
			}
		}
	}

	retained, held := 200_000, 50_000
	if testing.Short() {
		retained, held = 60_000, 20_000
	}
	late, err := db.Pool.Begin(t.Context()) // will be among the transactions that the cursor has to ask for
	if err != nil {
		t.Fatal(err)
	}
	defer late.Rollback(context.Background()) //nolint:errcheck // committed below
	s.fill(late, "late", 3)
	s.bulk(retained, held)
	drained := query[string](s, "SELECT pg_current_snapshot()::text")
	pos := query[int64](s, "SELECT max(seq) FROM outbox.event_outbox")
	s.stage("", 200)
	if err := late.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(drained, ":") || strings.HasSuffix(drained, ":") {
		t.Fatalf("the snapshot %s has no transaction in progress", drained)
	}

	for _, p := range planners {
		for name, limit := range planned {
			plan := p.explain(name, p.args(name, drained, pos))
			t.Logf("%s, %s: %d buffers", p.mode, name, plan.buffers())
			for _, fault := range plan.faults() {
				t.Errorf("%s, %s: %s", p.mode, name, fault)
			}
			if n := plan.buffers(); n > limit {
				t.Errorf("%s, %s: touched %d buffers, want %d at most", p.mode, name, n, limit)
			}
		}
	}
}

// planned are the statements that read the log, and how many buffers they may touch in the
// test: about four for each probe of one index of one slot, and the new rows.
var planned = map[string]int{"scout": 1500, "read": 150, "backlog": 150, "page": 150}

// planner is a connection that has prepared the statements, as one of a relay's pool has.
type planner struct {
	t    *testing.T
	conn *pgx.Conn
	mode string
	sql  map[string]string
}

func newPlanner(t *testing.T, db *outboxtest.Database, mode string) *planner {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), db.URL)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	p := &planner{t: t, conn: conn, mode: mode, sql: relay.StatementTexts("outbox")}
	p.exec("SET plan_cache_mode = " + mode)
	for name := range planned {
		p.exec("PREPARE " + name + " AS " + p.sql[name])
	}
	return p
}

func (p *planner) exec(sql string) {
	p.t.Helper()
	if _, err := p.conn.Exec(p.t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
		p.t.Fatalf("%s: %v", sql, err)
	}
}

// args are arguments as SQL: lane 5, or all lanes, with a cursor.
func (p *planner) args(name, drained string, pos int64) string {
	switch name {
	case "scout":
		lanes, cursors := make([]string, 16), make([]string, 16)
		for i := range lanes {
			lanes[i], cursors[i] = fmt.Sprint(i), "'"+drained+"'"
		}
		return "ARRAY[" + strings.Join(lanes, ",") + "]::smallint[], ARRAY[" + strings.Join(cursors, ",") + "]"
	case "read":
		return fmt.Sprintf("5::smallint, '%s', 1001", drained)
	case "page":
		return fmt.Sprintf("5::smallint, '%s', (SELECT pg_current_snapshot()::text), %d, 1000", drained, pos)
	default:
		return fmt.Sprintf("5::smallint, '%s'", drained)
	}
}

// run executes a prepared statement with the settings that the relay sends along.
func (p *planner) run(name, args string) {
	p.t.Helper()
	if strings.Contains(args, "(SELECT") { // EXECUTE takes no subquery
		args = strings.Replace(args, "(SELECT pg_current_snapshot()::text)", "pg_current_snapshot()::text", 1)
	}
	p.exec("BEGIN; " + p.sql["session"] + "; EXECUTE " + name + "(" + args + "); COMMIT")
}

func (p *planner) explain(name, args string) *planNode {
	p.t.Helper()
	args = strings.Replace(args, "(SELECT pg_current_snapshot()::text)", "pg_current_snapshot()::text", 1)
	p.exec("BEGIN; " + p.sql["session"])
	var text []byte
	err := p.conn.QueryRow(p.t.Context(), "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE "+name+"("+args+")", pgx.QueryExecModeSimpleProtocol).Scan(&text)
	p.exec("COMMIT")
	if err != nil {
		p.t.Fatalf("explain %s: %v", name, err)
	}
	var plans []struct{ Plan planNode }
	if err := json.Unmarshal(text, &plans); err != nil || len(plans) != 1 {
		p.t.Fatalf("explain %s: %d plans, %v", name, len(plans), err)
	}
	return &plans[0].Plan
}

// planNode is a node of a plan as EXPLAIN writes it.
type planNode struct {
	Type     string     `json:"Node Type"`
	Relation string     `json:"Relation Name"`
	Index    string     `json:"Index Name"`
	Cond     string     `json:"Index Cond"`
	Hit      int        `json:"Shared Hit Blocks"`
	Read     int        `json:"Shared Read Blocks"`
	Plans    []planNode `json:"Plans"`
}

func (n *planNode) buffers() int { return n.Hit + n.Read }

// faults names the nodes that would read more of the log than what is new.
func (n *planNode) faults() []string {
	var found []string
	if strings.HasPrefix(n.Relation, "event_outbox") {
		ranged := strings.Contains(n.Cond, "lane = ") && (strings.Contains(n.Cond, "tx ") || strings.Contains(n.Cond, "seq "))
		if !strings.HasPrefix(n.Type, "Index") || !ranged {
			found = append(found, fmt.Sprintf("%s of %s by %q with condition %q", n.Type, n.Relation, n.Index, n.Cond))
		}
	}
	for i := range n.Plans {
		found = append(found, n.Plans[i].faults()...)
	}
	return found
}

// bulk fills all slots with events that are drained already, and with held ones.
func (s *setup) bulk(retained, held int) {
	s.t.Helper()
	s.exec(`INSERT INTO outbox.event_outbox (slot, event_id, source, type, data)
		SELECT n % 4, 'retained-' || n, '/test', 'test.happened', '\x00' FROM generate_series(1, $1) AS n`, retained)
	s.exec(`INSERT INTO outbox.event_outbox (slot, event_id, source, type, data, tx, hold_operation_id, hold_generation)
		SELECT n % 4, 'held-' || n, '/test', 'test.happened', '\x00', NULL, gen_random_uuid(), 1 FROM generate_series(1, $1) AS n`, held)
}

// fill stages n events in a transaction of the caller.
func (s *setup) fill(tx pgx.Tx, name string, n int) {
	s.t.Helper()
	_, err := tx.Exec(s.t.Context(), `INSERT INTO outbox.event_outbox (event_id, source, type)
		SELECT $1 || '-' || n, '/test', 'test.happened' FROM generate_series(1, $2) AS n`, name, n)
	if err != nil {
		s.t.Fatalf("stage: %v", err)
	}
}
