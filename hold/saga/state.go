package saga

// State is where an operation is in its life.
type State string

// The states. Completed is terminal.
const (
	StateInProgress   State = "in_progress"
	StateCompensating State = "compensating"
	StateCompleted    State = "completed"
	StateAborted      State = "aborted"
	StateStuck        State = "stuck"
)

// States returns all states.
func States() []State {
	return []State{StateInProgress, StateCompensating, StateCompleted, StateAborted, StateStuck}
}
