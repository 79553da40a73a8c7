package hold

import (
	"errors"
	"time"

	"github.com/holdfast-dev/holdfast/hold/internal/call"
)

// RegisterOption is a choice for [Register].
type RegisterOption func(*registration) error

// DecideOption is a choice for [Release], [Cancel] and [Drop].
type DecideOption func(*decision) error

type registration struct {
	expiresAt *string // as SQL takes it
	onExpiry  OnExpiry
}

type decision struct {
	reason *string
}

// ExpireAt sets when the generation is overdue if nobody has decided, and what
// happens then. The time is kept to the microsecond and judged by the database's
// clock. Defaults to never.
func ExpireAt(at time.Time, then OnExpiry) RegisterOption {
	return func(r *registration) error {
		if then != AlarmOnExpiry && then != CancelOnExpiry {
			return call.Invalid("on_expiry", "must be alarm or cancel", "A release is never automatic.")
		}
		if at = at.UTC(); at.Year() < 1 || at.Year() > 9999 {
			return call.Invalid("expires_at", "is not in the years 1 to 9999", "Leave the option out for a generation that never expires.")
		}
		text := at.Format("2006-01-02T15:04:05.999999Z07:00")
		r.expiresAt, r.onExpiry = &text, then
		return nil
	}
}

// Because records why, in the generation and in the audit: at most 1024 bytes, and
// nothing that must not be read by an operator. Defaults to no reason.
func Because(reason string) DecideOption {
	return func(d *decision) error {
		if reason == "" {
			d.reason = nil
			return nil
		}
		d.reason = &reason
		return call.CheckText("reason", reason, 1, 1024, "Shorten it, or name the place where the story is told.")
	}
}

func registrationOf(opts []RegisterOption) (registration, error) {
	r := registration{onExpiry: AlarmOnExpiry}
	var errs []error
	for _, opt := range opts {
		errs = append(errs, opt(&r))
	}
	return r, errors.Join(errs...)
}

func decisionOf(opts []DecideOption) (decision, error) {
	var d decision
	var errs []error
	for _, opt := range opts {
		errs = append(errs, opt(&d))
	}
	return d, errors.Join(errs...)
}
