package saga

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// What a row is made, from one that is in progress in generation 2, has a live lease, and is due.
const (
	anotherHolder   = `lease_holder = gen_random_uuid()`
	laterGeneration = `generation = 3`
	firstGeneration = `generation = 1`
	over            = `lease_expires_at = clock_timestamp() - interval '1 ms'`
	longOver        = `lease_expires_at = clock_timestamp() - interval '61 min'`
	notLongOver     = `lease_expires_at = clock_timestamp() - interval '59 min'`
	notDue          = `next_attempt_at = clock_timestamp() + interval '1 h'`
	compensating    = `state = 'compensating'`
	inProgress      = `state = 'in_progress'`
	letGo           = `lease_holder = NULL, lease_expires_at = NULL`
	aborted         = `state = 'aborted', ` + letGo
	stuck           = `state = 'stuck', ` + letGo
	completed       = `state = 'completed', result = '{}', ` + letGo
	released        = `events_released = true`
)

// condition is a statement, the row on which it works, and changes of the row each of which must keep it from that.
type condition struct {
	file   string
	args   []any    // behind the operation
	row    []string // one after the other
	spoils []string
}

// conditions of everything that changes an operation, or is asked before something is done under a claim.
func conditions(holder, next uuid.UUID) []condition {
	mine := []any{2, holder}
	with := func(args ...any) []any { return append(append([]any{}, mine...), args...) }
	claimed := []string{anotherHolder, firstGeneration, laterGeneration}
	and := func(more ...string) []string { return append(append([]string{}, claimed...), more...) }
	undoing := []string{compensating, over}
	pinned := []any{"k", next, time.Minute, "{}", make([]byte, 32), "key", []string{"p"}}
	return []condition{
		{"renew.sql", with(time.Minute), nil, and(compensating, over)},
		{"let_go.sql", mine, nil, and(compensating, over)},
		{"pinned.sql", mine, nil, and(compensating)},
		{"pinned.sql", mine, []string{over}, claimed},
		{"record_step.sql", with("person:0", "person", "1"), nil, and(compensating)},
		{"complete.sql", with(`{}`, time.Minute), nil, and(compensating)},
		{"complete.sql", with(`{}`, time.Minute), []string{over}, claimed},
		{"next_generation.sql", with(5), nil, and(compensating, over)},
		{"abort.sql", with("t"), undoing, and(inProgress)},
		{"put_off.sql", with(time.Minute, false, 20, "t"), undoing, and(inProgress)},
		{"released.sql", []any{2}, []string{completed}, []string{firstGeneration, laterGeneration, released}},
		{"claim_release.sql", []any{2, time.Minute}, []string{completed}, []string{firstGeneration, laterGeneration, released, notDue}},
		{"put_off_release.sql", []any{2, time.Minute}, []string{completed}, []string{firstGeneration, laterGeneration, released}},
		{"claim_compensation.sql", []any{2, next, time.Minute, time.Hour, "t"}, []string{longOver}, []string{firstGeneration, laterGeneration, notLongOver, aborted, stuck}},
		{"claim_compensation.sql", []any{2, next, time.Minute, time.Hour, "t"}, []string{compensating, letGo}, []string{firstGeneration, laterGeneration, notDue, aborted, stuck}},
		{"claim_compensation.sql", []any{2, next, time.Minute, time.Hour, "t"}, []string{compensating, over}, []string{
			firstGeneration, laterGeneration, notDue, `lease_expires_at = clock_timestamp() + interval '1 min'`,
		}},
		{"steal.sql", []any{2, next, time.Minute}, []string{over}, []string{firstGeneration, laterGeneration, compensating, `lease_expires_at = clock_timestamp() + interval '1 min'`}},
		{"restart.sql", pinned, []string{aborted}, []string{stuck, compensating + `, lease_holder = gen_random_uuid(), ` + over}},
	}
}

// TestEveryStatementAsksForItsConditions: whatever the callers know, the statement that writes asks for each
// condition itself, by the row as it is: the token of the claim, its generation, the state and the times.
func TestEveryStatementAsksForItsConditions(t *testing.T) {
	t.Parallel()
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	db := outboxtest.NewDatabase(t).Pool
	holder, next := uuid.New(), uuid.New()
	for _, c := range conditions(holder, next) {
		if !does(t, s, db, c, holder, "") {
			t.Errorf("%s does nothing for %v", c.file, c.row)
		}
		for _, spoil := range c.spoils {
			if does(t, s, db, c, holder, spoil) {
				t.Errorf("%s does its work although %s", c.file, spoil)
			}
		}
	}
}

// does runs the statement on a row of its own and says whether it did anything.
func does(t *testing.T, s *Store, db *pgxpool.Pool, c condition, holder uuid.UUID, spoil string) bool {
	t.Helper()
	id := uuid.New()
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := db.Exec(t.Context(), sql, args...); err != nil {
			t.Fatalf("%s for %s: %v", sql, c.file, err)
		}
	}
	exec(`INSERT INTO outbox.saga_operation (operation_id, generation, kind, lease_holder, lease_expires_at, next_attempt_at, basis, request_digest, digest_key_id, participants)
		VALUES ($1, 2, 'k', $2, clock_timestamp() + interval '1 h', clock_timestamp() - interval '1 h', '{}', $3, 'key', '{p}')`, id, holder, make([]byte, 32))
	for _, change := range append(append([]string{}, c.row...), spoil) {
		if change != "" {
			exec(`UPDATE outbox.saga_operation SET `+change+` WHERE operation_id = $1`, id)
		}
	}
	before := picture(t, db, id)
	var answer string
	err := pgx.BeginFunc(t.Context(), db, func(tx pgx.Tx) error {
		rows, err := tx.Query(t.Context(), s.statements[c.file], append([]any{id}, c.args...)...)
		if err != nil {
			return err
		}
		found, err := pgx.CollectRows(rows, pgx.RowToMap)
		if len(found) > 0 && c.file == "pinned.sql" {
			answer = "there"
		}
		return err
	})
	if err != nil {
		t.Fatalf("%s after %s: %v", c.file, spoil, err)
	}
	return picture(t, db, id) != before || answer != ""
}

// picture is all that is known of an operation.
func picture(t *testing.T, db *pgxpool.Pool, id uuid.UUID) (text string) {
	t.Helper()
	err := db.QueryRow(t.Context(), `SELECT o::text || (SELECT count(*) FROM outbox.saga_step s WHERE s.operation_id = $1)
		|| (SELECT count(*) FROM outbox.saga_audit a WHERE a.operation_id = $1) FROM outbox.saga_operation o WHERE o.operation_id = $1`, id).Scan(&text)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestNextGenerationIsNoStepBack: only forward, and only before the first step, of whichever generation.
func TestNextGenerationIsNoStepBack(t *testing.T) {
	t.Parallel()
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	db := outboxtest.NewDatabase(t).Pool
	holder := uuid.New()
	for _, to := range []int{1, 2} {
		if does(t, s, db, condition{"next_generation.sql", []any{2, holder, to}, nil, nil}, holder, "") {
			t.Errorf("it went from generation 2 to %d", to)
		}
	}
	id := uuid.New()
	for _, generation := range []int{1, 2} {
		if _, err := db.Exec(t.Context(), `INSERT INTO outbox.saga_operation (operation_id, generation, kind, lease_holder, lease_expires_at, basis, request_digest, digest_key_id, participants)
			VALUES ($1, 2, 'k', $2, clock_timestamp() + interval '1 h', '{}', $3, 'key', '{p}') ON CONFLICT DO NOTHING`, id, holder, make([]byte, 32)); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(t.Context(), `INSERT INTO outbox.saga_step VALUES ($1, DEFAULT, $2, 'person:0', 'person', 'p')`, id, generation); err != nil {
			t.Fatal(err)
		}
		if moved, err := s.changed(t.Context(), db, "next_generation.sql", id, 2, holder, 3); err != nil || moved {
			t.Errorf("it moved behind a step of generation %d: %v", generation, err)
		}
		if _, err := db.Exec(t.Context(), `DELETE FROM outbox.saga_step`); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTurnsLastForEveryParticipant: a reconciler asks one after the other, and each may take its whole time. Nobody else
// takes the turn meanwhile.
func TestTurnsLastForEveryParticipant(t *testing.T) {
	t.Parallel()
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	db := outboxtest.NewDatabase(t).Pool
	for file, c := range map[string]struct {
		state, ends string
		args        []any
	}{
		"claim_compensation.sql": {longOver, "lease_expires_at", []any{uuid.New(), time.Minute, time.Hour, "t"}},
		"claim_release.sql":      {completed, "next_attempt_at", []any{time.Minute}},
	} {
		id := uuid.New()
		if _, err := db.Exec(t.Context(), `INSERT INTO outbox.saga_operation (operation_id, kind, lease_holder, lease_expires_at, basis, request_digest, digest_key_id, participants)
			VALUES ($1, 'k', $1, clock_timestamp(), '{}', $2, 'key', '{a,b,c}')`, id, make([]byte, 32)); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(t.Context(), `UPDATE outbox.saga_operation SET `+c.state+` WHERE operation_id = $1`, id); err != nil {
			t.Fatal(err)
		}
		if turns, err := query(t.Context(), s, db, file, pgx.RowToStructByPos[turn], append([]any{id, 1}, c.args...)...); err != nil || len(turns) != 1 {
			t.Fatalf("%s: %v, %v", file, turns, err)
		}
		var left time.Duration
		if err := db.QueryRow(t.Context(), `SELECT `+c.ends+` - clock_timestamp() FROM outbox.saga_operation WHERE operation_id = $1`, id).Scan(&left); err != nil || left < 3*time.Minute {
			t.Errorf("%s: the turn lasts %s for 3 participants of a minute, %v", file, left, err)
		}
	}
}
