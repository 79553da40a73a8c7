package saga

import (
	"fmt"
	"strings"
	"time"
)

// Settings are the times of operations. The zero value of a field means its default.
type Settings struct {
	// Lease is how long an operation stays with a holder that was killed. It must be longer than
	// two heartbeats, and than ParticipantTimeout and Margin together. Defaults to 30 seconds.
	Lease time.Duration
	// Heartbeat is the pause between two renewals of the lease. Defaults to 10 seconds.
	Heartbeat time.Duration
	// ParticipantTimeout is how long one call of a participant may take. Defaults to 20 seconds.
	ParticipantTimeout time.Duration
	// Margin is what is left of a lease after the slowest call. Defaults to 5 seconds.
	Margin time.Duration
	// Grace is for how long the lease must be over before an operation is compensated: longer than
	// ParticipantTimeout, shorter than 24 hours. Defaults to 1 hour.
	Grace time.Duration
	// Period is the pause between two ticks of the reconciler. Defaults to 15 seconds.
	Period time.Duration
	// Retention is how long operations stay that are aborted, or completed and released. Not
	// shorter than RetrySLA. Defaults to 30 days.
	Retention time.Duration
	// RetrySLA is how long after its first call a client may repeat it and gets the same answer.
	// Defaults to 7 days.
	RetrySLA time.Duration
	// ParticipantRetention is how long participants keep receipts: longer than RetrySLA. It is
	// said here to be checked. Defaults to 30 days, which is theirs.
	ParticipantRetention time.Duration
	// Attempts is how often compensation may fail before the operation is stuck. Defaults to 20.
	Attempts int
	// Pause is how long the reconciler leaves an operation alone after a failure. It doubles with
	// each one, up to MaxPause. Default to 15 seconds and 30 minutes.
	Pause, MaxPause time.Duration
	// ReleaseAlarm is how long a completed operation may be unreleased before it is told. Defaults
	// to 5 minutes.
	ReleaseAlarm time.Duration
}

const maxGrace = 24 * time.Hour

// ConfigError is returned for settings that cannot work together.
type ConfigError struct{ Problems []string }

func (e *ConfigError) Error() string { return "configure sagas: " + strings.Join(e.Problems, "; ") }

// WithDefaults fills what is zero.
func (s Settings) WithDefaults() Settings {
	for _, d := range []struct {
		field    *time.Duration
		standard time.Duration
	}{
		{&s.Lease, 30 * time.Second}, {&s.Heartbeat, 10 * time.Second}, {&s.ParticipantTimeout, 20 * time.Second},
		{&s.Margin, 5 * time.Second}, {&s.Grace, time.Hour}, {&s.Period, 15 * time.Second},
		{&s.Retention, 30 * 24 * time.Hour}, {&s.RetrySLA, 7 * 24 * time.Hour}, {&s.ParticipantRetention, 30 * 24 * time.Hour},
		{&s.Pause, 15 * time.Second}, {&s.MaxPause, 30 * time.Minute}, {&s.ReleaseAlarm, 5 * time.Minute},
	} {
		if *d.field == 0 {
			*d.field = d.standard
		}
	}
	if s.Attempts == 0 {
		s.Attempts = 20
	}
	return s
}

// Validate reports every setting that cannot work as a [*ConfigError].
func (s Settings) Validate() error {
	s = s.WithDefaults()
	var problems []string
	check := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	check(s.Heartbeat > 0, "heartbeat %s: must be positive", s.Heartbeat)
	check(s.Lease > 2*s.Heartbeat, "lease %s: must be longer than two heartbeats of %s", s.Lease, s.Heartbeat)
	check(s.ParticipantTimeout > 0, "participant timeout %s: must be positive", s.ParticipantTimeout)
	check(s.Margin > 0, "margin %s: must be positive", s.Margin)
	check(s.Lease > s.ParticipantTimeout+s.Margin, "lease %s: must be longer than the participant timeout %s and the margin %s together", s.Lease, s.ParticipantTimeout, s.Margin)
	check(s.Grace > s.ParticipantTimeout, "grace %s: must be longer than the participant timeout %s", s.Grace, s.ParticipantTimeout)
	check(s.Grace < maxGrace, "grace %s: must be shorter than %s", s.Grace, maxGrace)
	check(s.Period > 0, "period %s: must be positive", s.Period)
	check(s.RetrySLA > 0, "retry sla %s: must be positive", s.RetrySLA)
	check(s.Retention >= s.RetrySLA, "retention %s: must not be shorter than the retry sla %s", s.Retention, s.RetrySLA)
	check(s.ParticipantRetention > s.RetrySLA, "participant retention %s: must be longer than the retry sla %s", s.ParticipantRetention, s.RetrySLA)
	check(s.Attempts > 0, "attempts %d: must be positive", s.Attempts)
	check(s.Pause > 0, "pause %s: must be positive", s.Pause)
	check(s.MaxPause >= s.Pause, "longest pause %s: must not be shorter than the pause %s", s.MaxPause, s.Pause)
	check(s.ReleaseAlarm > 0, "release alarm %s: must be positive", s.ReleaseAlarm)
	if problems != nil {
		return &ConfigError{problems}
	}
	return nil
}

// pause doubles with each attempt that failed.
func (s Settings) pause(attempts int) time.Duration {
	pause := s.Pause
	for ; attempts > 0 && pause < s.MaxPause; attempts-- {
		pause *= 2
	}
	return min(pause, s.MaxPause)
}
