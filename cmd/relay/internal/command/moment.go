package command

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// moment is a flag that takes a point in time: how long ago it was (2h, 3d), RFC 3339, or
// "2026-11-29 10:00Z".
type moment struct {
	at   time.Time // zero when it was not given
	text string
}

// Set implements pflag.Value.
func (m *moment) Set(text string) error {
	at, err := parseMoment(text, time.Now())
	if err == nil {
		m.at, m.text = at, text
	}
	return err
}

// String implements pflag.Value.
func (m *moment) String() string { return m.text }

// Type implements pflag.Value: it names the value in help.
func (m *moment) Type() string { return "time" }

func parseMoment(text string, now time.Time) (time.Time, error) {
	if ago, err := time.ParseDuration(text); err == nil {
		return before(now, ago)
	}
	if days, found := strings.CutSuffix(text, "d"); found {
		if n, err := strconv.Atoi(days); err == nil && n <= 36500 {
			return before(now, time.Duration(n)*24*time.Hour)
		}
	}
	if at, found := parseTime(text); found {
		return at, nil
	}
	return time.Time{}, errors.New(`not a time: write how long ago (2h, 3d), RFC 3339, or "2026-11-29 10:00Z"`)
}

func parseTime(text string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04Z07:00"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

func before(now time.Time, ago time.Duration) (time.Time, error) {
	if ago < 0 {
		return time.Time{}, errors.New("a time to come: write how long ago it was, without a sign")
	}
	return now.Add(-ago), nil
}

// futureMoment is a flag that takes a point in time that may come: RFC 3339, or
// "2026-11-29 10:00Z".
type futureMoment struct{ moment }

// Set implements pflag.Value.
func (m *futureMoment) Set(text string) error {
	at, found := parseTime(text)
	if !found {
		return errors.New(`not a time: write RFC 3339, or "2026-11-29 10:00Z"`)
	}
	m.at, m.text = at, text
	return nil
}
