package saga_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/hold/saga"
)

func TestDefaultSettings(t *testing.T) {
	t.Parallel()
	want := saga.Settings{
		Lease: 30 * time.Second, Heartbeat: 10 * time.Second, ParticipantTimeout: 20 * time.Second, Margin: 5 * time.Second,
		Grace: time.Hour, Period: 15 * time.Second, Retention: 720 * time.Hour, RetrySLA: 168 * time.Hour, ParticipantRetention: 720 * time.Hour,
		Attempts: 20, Pause: 15 * time.Second, MaxPause: 30 * time.Minute, ReleaseAlarm: 5 * time.Minute,
	}
	if diff := cmp.Diff(want, saga.Settings{}.WithDefaults()); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	if err := (saga.Settings{}).Validate(); err != nil {
		t.Error(err)
	}
}

// TestSettingsThatCannotWorkAreRefused: each constraint, at its bound.
func TestSettingsThatCannotWorkAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ bad, good saga.Settings }{
		"lease and heartbeat": {saga.Settings{Heartbeat: 15 * time.Second}, saga.Settings{Heartbeat: 14 * time.Second}},
		"lease and timeout":   {saga.Settings{ParticipantTimeout: 25 * time.Second}, saga.Settings{ParticipantTimeout: 24 * time.Second}},
		"grace and timeout":   {saga.Settings{Grace: 20 * time.Second}, saga.Settings{Grace: 21 * time.Second}},
		"grace and a day":     {saga.Settings{Grace: 24 * time.Hour}, saga.Settings{Grace: 23 * time.Hour}},
		"retention":           {saga.Settings{Retention: 167 * time.Hour}, saga.Settings{Retention: 168 * time.Hour}},
		"participants":        {saga.Settings{ParticipantRetention: 168 * time.Hour}, saga.Settings{ParticipantRetention: 169 * time.Hour}},
		"pauses":              {saga.Settings{MaxPause: 14 * time.Second}, saga.Settings{MaxPause: 15 * time.Second}},
		"attempts":            {saga.Settings{Attempts: -1}, saga.Settings{Attempts: 1}},
		"heartbeat":           {saga.Settings{Heartbeat: -1}, saga.Settings{Heartbeat: 1}},
		"timeout":             {saga.Settings{ParticipantTimeout: -1}, saga.Settings{ParticipantTimeout: 1}},
		"margin":              {saga.Settings{Margin: -1}, saga.Settings{Margin: 1}},
		"period":              {saga.Settings{Period: -1}, saga.Settings{Period: 1}},
		"retry sla":           {saga.Settings{RetrySLA: -1}, saga.Settings{RetrySLA: 1}},
		"pause":               {saga.Settings{Pause: -1}, saga.Settings{Pause: 1}},
		"release alarm":       {saga.Settings{ReleaseAlarm: -1}, saga.Settings{ReleaseAlarm: 1}},
	} {
		var refused *saga.ConfigError
		if _, err := saga.New(saga.Config{Settings: c.bad}); !errors.As(err, &refused) || len(refused.Problems) != 1 {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := saga.New(saga.Config{Settings: c.good}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := saga.New(saga.Config{Schema: "Not a name"}); err == nil {
		t.Error("a schema that is no name")
	}
}
