package outboxtest

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// Fatalf ends the goroutine, as that of a test does.
func (r *recorder) Fatalf(format string, args ...any) {
	r.errors = append(r.errors, "fatal: "+fmt.Sprintf(format, args...))
	runtime.Goexit()
}

// record runs what is expected to fail a test, and returns what it said.
func record(t *testing.T, fails func(t testing.TB)) []string {
	t.Helper()
	r := &recorder{TB: t}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		fails(r)
	}()
	<-ended
	return r.errors
}

func TestWhatADatabaseRefusesFailsTheTest(t *testing.T) {
	t.Parallel()
	db := NewDatabase(t)
	Exec(t, db.Pool, "CREATE TABLE one (n int)")
	Exec(t, db.Pool, "INSERT INTO one SELECT generate_series(1, $1::int)", 2)
	if got := One[int](t, db.Pool, "SELECT max(n) FROM one"); got != 2 {
		t.Errorf("one is %d", got)
	}
	if got := All[int](t, db.Pool, "SELECT n FROM one ORDER BY n"); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("all are %d", got)
	}
	statements := func(sql string) map[string]string { return map[string]string{"it": sql} }
	for name, c := range map[string]struct {
		fails func(testing.TB)
		want  string
	}{
		"exec":               {func(t testing.TB) { Exec(t, db.Pool, "INSERT INTO two VALUES (1)") }, `fatal: INSERT INTO two VALUES (1): ERROR: relation "two"`},
		"one":                {func(t testing.TB) { One[int](t, db.Pool, "SELECT n FROM two") }, `relation "two"`},
		"one of two":         {func(t testing.TB) { One[int](t, db.Pool, "SELECT n FROM one") }, "fatal: SELECT n FROM one: too many rows"},
		"all":                {func(t testing.TB) { All[int](t, db.Pool, "SELECT n FROM two") }, `relation "two"`},
		"eventually":         {func(t testing.TB) { Eventually(t, time.Millisecond, "never", func() bool { return false }) }, "fatal: not within 1ms: never"},
		"prepare":            {func(t testing.TB) { Prepare(t, db.URL, statements("SELECT n FROM two")) }, `prepare it: ERROR: relation "two"`},
		"prepare nothing":    {func(t testing.TB) { Prepare(t, db.URL, nil) }, "no statement"},
		"prepare a template": {func(t testing.TB) { Prepare(t, db.URL, statements("SELECT '{{schema}}'")) }, "prepare it: <nil>"},
		"prepare a time":     {func(t testing.TB) { PrepareTimeless(t, db.URL, statements("SELECT $1::int, $2::timestamptz")) }, "it takes a time as $2"},
	} {
		if got := record(t, c.fails); len(got) != 1 || !strings.Contains(got[0], c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	Prepare(t, db.URL, statements("SELECT $1::timestamptz"))
	PrepareTimeless(t, db.URL, statements("SELECT $1::interval"))
}
