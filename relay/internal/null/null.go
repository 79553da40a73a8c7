package null

import "time"

// Text is nil for an empty text.
func Text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Time is nil for the zero time.
func Time(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
