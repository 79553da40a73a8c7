package relay

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

var errAway = errors.New("away")

func newLoggedHealth(unready time.Duration) (*health, func() int) {
	var log bytes.Buffer
	h := newHealth(slog.New(slog.NewTextHandler(&log, nil)), unready)
	return h, func() int { return bytes.Count(log.Bytes(), []byte("\n")) }
}

func TestOutageThatGoesOnIsOneLineAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, lines := newLoggedHealth(15 * time.Second)
		h.databaseOK(fromSteward)
		h.brokerOK(fromProbe)
		for range 10 * 60 * 10 { // ten minutes, ten failures a second, from two lanes
			h.brokerFailed(1, failure{class: Unavailable, err: errAway})
			h.brokerFailed(2, failure{class: Unknown, err: errAway})
			time.Sleep(100 * time.Millisecond)
		}
		if n := lines(); n != 10 {
			t.Errorf("%d lines in ten minutes, want 10", n)
		}
		h.brokerOK(1)
		if h.ready() == nil {
			t.Error("ready while a lane fails")
		}
		h.brokerOK(2)
		if err := h.ready(); err != nil || lines() != 11 {
			t.Errorf("%d lines, ready: %v", lines(), err)
		}
	})
}

func TestOutageThatComesAndGoesIsAHandfulOfLinesAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, lines := newLoggedHealth(15 * time.Second)
		for range 10 * 60 * 10 {
			h.databaseFailed(1, errAway)
			time.Sleep(50 * time.Millisecond)
			h.databaseOK(1)
			time.Sleep(50 * time.Millisecond)
		}
		if n := lines(); n > 10*2*logBurst {
			t.Errorf("%d lines in ten minutes", n)
		}
	})
}

// A new outage is told at once, also right after another one.
func TestSecondOutageIsToldAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(*testing.T) {
		h, lines := newLoggedHealth(15 * time.Second)
		h.databaseFailed(fromScout, errAway)
		h.databaseOK(fromScout)
		time.Sleep(time.Second)
		before := lines()
		h.databaseFailed(fromScout, errAway)
		if n := lines() - before; n != 1 {
			t.Errorf("%d lines of the second outage", n)
		}
	})
}

// A cause that changes within an outage is told, if it asks for something else.
func TestNewCauseOfAnOutageIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(*testing.T) {
		h, lines := newLoggedHealth(15 * time.Second)
		for range 100 {
			h.databaseFailed(fromScout, errAway)
		}
		for range 100 {
			h.databaseFailed(fromScout, &pgconn.PgError{Code: "25006"})
		}
		if n := lines(); n != 2 {
			t.Errorf("%d lines for two causes", n)
		}
		for range 100 {
			h.databaseFailed(fromScout, errAway)
			h.databaseFailed(fromScout, &pgconn.PgError{Code: "25006"})
		}
		if n := lines(); n > logBurst {
			t.Errorf("%d lines for two causes in turns", n)
		}
	})
}

func TestReadinessFollowsWhatWasProven(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, _ := newLoggedHealth(15 * time.Second)
		want := func(what string) {
			t.Helper()
			var not *NotReadyError
			err := h.ready()
			switch {
			case what == "" && err != nil:
				t.Errorf("ready: %v", err)
			case what != "" && (!errors.As(err, &not) || not.What != what):
				t.Errorf("ready: %v, want not, because of the %s", err, what)
			}
		}
		want("start")
		h.databaseOK(fromSteward)
		want("start")
		h.gone(3) // proves nothing
		want("start")
		h.brokerOK(fromProbe)
		want("")
		h.brokerFailed(3, failure{class: Unavailable, err: errAway})
		time.Sleep(15 * time.Second)
		want("")
		time.Sleep(time.Second)
		want("broker")
		h.brokerOK(fromProbe) // another one's success does not speak for lane 3
		want("broker")
		h.gone(3) // a lane that is not ours any more does
		want("")
		h.databaseFailed(fromSteward, errAway)
		time.Sleep(16 * time.Second)
		h.databaseOK(fromScout)
		want("database")
		h.databaseOK(fromSteward)
		want("")
	})
}
