package exit

// Code is the exit status of a process.
type Code int

// The statuses that a command may end with.
const (
	OK          Code = 0
	No          Code = 1
	Usage       Code = 2
	NotFound    Code = 3
	Denied      Code = 4
	Unavailable Code = 5
	Partial     Code = 6
	Interrupted Code = 130
)

// String returns the word that stands for the status in a JSON error.
func (c Code) String() string {
	switch c {
	case OK:
		return "ok"
	case No:
		return "no"
	case Usage:
		return "usage"
	case NotFound:
		return "not_found"
	case Denied:
		return "denied"
	case Unavailable:
		return "unavailable"
	case Partial:
		return "partial"
	case Interrupted:
		return "interrupted"
	default:
		return "failed"
	}
}
