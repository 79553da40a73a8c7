package check

import (
	"fmt"
	"time"
)

func versionFinding(f *facts) Finding {
	major := f.db.server.Number / 10000
	switch {
	case major < f.t.oldest:
		return fail("upgrade the server", "Postgres %s is too old: %d to %d are supported", f.db.server.Version, f.t.oldest, f.t.newest)
	case major > f.t.newest:
		return fail("upgrade Holdfast: this build does not know the server", "Postgres %s is too new: %d to %d are supported",
			f.db.server.Version, f.t.oldest, f.t.newest)
	}
	return ok("Postgres %s", f.db.server.Version)
}

func primaryFinding(f *facts) Finding {
	const hint = "connect to the primary, for example with target_session_attrs=read-write in the database URL"
	switch {
	case f.db.server.Recovery:
		return fail(hint, "the server is a standby in recovery: nothing can be written")
	case f.db.server.ReadOnly:
		return fail("remove default_transaction_read_only from the server, the database or the role; or "+hint,
			"transactions are read-only: nothing can be written")
	}
	return ok("the server is a primary and takes writes")
}

func encodingFinding(f *facts) Finding {
	if e := f.db.server.Encoding; e != "UTF8" {
		return fail("make the database anew with ENCODING 'UTF8': CloudEvents attributes are Unicode", "the encoding of the database is %s", e)
	}
	return ok("the encoding of the database is UTF8")
}

// connectionsFinding wants room for one more relay.
func connectionsFinding(f *facts) Finding {
	s := f.db.server
	need := f.t.Relay.Workers + 2
	if f.db.pooled {
		return ok("a pooler shares the connections")
	}
	free, of := s.ServerLimit-s.ServerUsed, fmt.Sprintf("max_connections leaves %d", s.ServerLimit)
	if !s.Superuser {
		if left := s.DatabaseLimit - s.DatabaseUsed; s.DatabaseLimit >= 0 && left < free {
			free, of = left, fmt.Sprintf("database %s may have %d", s.Database, s.DatabaseLimit)
		}
		if left := s.RoleLimit - s.RoleUsed; s.RoleLimit >= 0 && left < free {
			free, of = left, fmt.Sprintf("role %s may have %d", s.Role, s.RoleLimit)
		}
	}
	free = max(free, 0)
	if free < need {
		return warn("raise the limit, lower RELAY_WORKERS, or use a pooler",
			"%d connections are free and a relay needs %d: %s", free, need, of)
	}
	return ok("%d connections are free and a relay needs %d", free, need)
}

func transactionsFinding(f *facts) Finding {
	a := f.db.ages
	if err := f.db.refused["ages"]; err != nil {
		return refusedFinding(err)
	}
	hidden := ""
	if a.Hidden > 0 {
		hidden = fmt.Sprintf(" (%d sessions of other roles do not tell: grant pg_read_all_stats to see them)", a.Hidden)
	}
	if age := seconds(a.Oldest); age > f.t.MaxAge {
		return warn("end it, or set idle_in_transaction_session_timeout: dead rows stay while it runs. The relay itself does not slow down",
			"a transaction is open for %s: pid %d, %s%s", age.Round(time.Second), a.PID, a.Who, hidden)
	}
	return ok("no transaction is open for more than %s%s", f.t.MaxAge, hidden)
}

func preparedTransactionsFinding(f *facts) Finding {
	a := f.db.ages
	if err := f.db.refused["ages"]; err != nil {
		return refusedFinding(err)
	}
	if age := seconds(a.Prepared); age > f.t.MaxAge {
		return warn("COMMIT PREPARED or ROLLBACK PREPARED: it keeps its locks and dead rows until then, also over a restart",
			"transaction %q is prepared for %s", a.GID, age.Round(time.Second))
	}
	return ok("no transaction is prepared for more than %s", f.t.MaxAge)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
