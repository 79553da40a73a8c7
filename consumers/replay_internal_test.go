package consumers

import (
	"testing"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// TestReplayIsEndedByItsToken: whoever comes too late, because the claim ran out and another instance took it,
// ends nothing; and a claim that lives is nobody else's.
func TestReplayIsEndedByItsToken(t *testing.T) {
	t.Parallel()
	db, sql := outboxtest.NewDatabase(t), newStatements("outbox")
	const dead = `INSERT INTO outbox.consumer_dead_letter (consumer, stream, stream_seq, attempts, reason_code, reason_detail_sha256, state)
		VALUES ('ledger', 'EVENTS', 1, 1, 'permanent', sha256('x'), 'replay_requested')`
	if _, err := db.Pool.Exec(t.Context(), dead); err != nil {
		t.Fatal(err)
	}
	claim := func(lease string) (l letter, err error) {
		err = db.Pool.QueryRow(t.Context(), sql.claimReplay, "ledger", "EVENTS", lease).Scan(&l.id, &l.seq, &l.token, &l.source, &l.of)
		return l, err
	}
	end := func(l letter, state string) (mine bool) {
		t.Helper()
		if err := db.Pool.QueryRow(t.Context(), sql.endReplay, l.id, l.token, state, 0, nil, nil, "why").Scan(&mine); err != nil {
			t.Fatal(err)
		}
		return mine
	}
	late, err := claim("-1 second")
	if err != nil {
		t.Fatal(err)
	}
	now, err := claim("1 hour")
	if err != nil || now.id != late.id || now.token == late.token {
		t.Fatalf("the claim that ran out was taken as %+v, %v", now, err)
	}
	if other, err := claim("1 hour"); err == nil {
		t.Errorf("a claim that lives was taken as %+v", other)
	}
	if end(late, "dead") || !end(now, "resolved") || end(now, "dead") {
		t.Error("somebody ended what is not theirs, or could not end what is")
	}
}
