package command

import (
	"errors"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/consumers"
	"github.com/holdfast-dev/holdfast/consumers/check"
	description "github.com/holdfast-dev/holdfast/consumers/effects"
	"github.com/holdfast-dev/holdfast/consumers/people"
	"github.com/holdfast-dev/holdfast/consumers/reconcile"
	"github.com/holdfast-dev/holdfast/consumers/repair"
)

// classifyConsumer returns nil for an error that is none of a consumer's tools.
func classifyConsumer(err error) *exit.Error {
	var settings *consumers.ConfigError
	var invalid *people.InvalidError
	var described *description.Error
	var name *check.UnknownNameError
	var inapplicable *check.InapplicableError
	var truth *reconcile.TruthError
	var refused *repair.RefusedError
	var index *repair.IndexError
	var assertion *repair.AssertionError
	switch {
	case errors.As(err, &settings), errors.As(err, &invalid):
		return &exit.Error{Code: exit.Usage, Err: err}
	case errors.As(err, &described):
		return &exit.Error{Code: exit.Usage, Kind: kindConfiguration, Err: err, Hint: described.Hint()}
	case errors.As(err, &name):
		return &exit.Error{Code: exit.Usage, Err: err, Hint: "relay consumer check --list names them"}
	case errors.As(err, &inapplicable):
		return &exit.Error{Code: exit.Usage, Err: err, Hint: inapplicable.Hint()}
	case errors.As(err, &truth):
		return &exit.Error{Code: exit.Usage, Kind: "truth", Err: err, Hint: truth.Hint()}
	case errors.As(err, &refused):
		return &exit.Error{Code: exit.No, Kind: "refused", Err: err, Hint: refused.Hint()}
	case errors.As(err, &index):
		return &exit.Error{Code: exit.No, Kind: "refused", Err: err, Hint: index.Hint()}
	case errors.As(err, &assertion):
		return &exit.Error{Code: exit.No, Kind: "refused", Err: err, Hint: "report it: what the repair found and what it did do not fit together"}
	case errors.Is(err, repair.ErrRunning):
		return &exit.Error{Code: exit.No, Kind: "refused", Err: err, Hint: "relay consumer pause GROUP --wait 30s"}
	}
	return nil
}
