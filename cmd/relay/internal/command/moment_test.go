package command

import (
	"testing"
	"time"
)

func TestMoments(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 15, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"2h":                        "2026-11-29T13:00:00Z",
		"90m":                       "2026-11-29T13:30:00Z",
		"3d":                        "2026-11-26T15:00:00Z",
		"2026-11-29T10:00:00+01:00": "2026-11-29T09:00:00Z",
		"2026-11-29 10:00Z":         "2026-11-29T10:00:00Z",
		"2026-11-29 10:00:30+02:00": "2026-11-29T08:00:30Z",
		"yesterday":                 "",
		"-2h":                       "",
		"-1d":                       "",
		"2026-11-29 10:00":          "", // of which zone?
		"":                          "",
	} {
		at, err := parseMoment(text, now)
		if want == "" {
			if err == nil {
				t.Errorf("%q was taken for %s", text, at)
			}
			continue
		}
		if err != nil || at.UTC().Format(time.RFC3339) != want {
			t.Errorf("%q is %s (%v), want %s", text, at, err, want)
		}
	}
}
