package history

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Snapshot is a pg_snapshot: which transactions can be seen in it.
type Snapshot struct {
	Min, Max uint64
	Running  []uint64 // between Min and Max, ascending
}

// ParseSnapshot reads the text form, such as 10:20:10,14.
func ParseSnapshot(text string) (Snapshot, error) {
	var s Snapshot
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return s, fmt.Errorf("%q is no snapshot", text)
	}
	var err error
	if s.Min, err = strconv.ParseUint(parts[0], 10, 64); err != nil {
		return s, fmt.Errorf("%q is no snapshot: %w", text, err)
	}
	if s.Max, err = strconv.ParseUint(parts[1], 10, 64); err != nil {
		return s, fmt.Errorf("%q is no snapshot: %w", text, err)
	}
	if parts[2] == "" {
		return s, nil
	}
	for _, one := range strings.Split(parts[2], ",") {
		tx, err := strconv.ParseUint(one, 10, 64)
		if err != nil {
			return s, fmt.Errorf("%q is no snapshot: %w", text, err)
		}
		s.Running = append(s.Running, tx)
	}
	return s, nil
}

// Sees says whether a transaction that ended well is visible.
func (s Snapshot) Sees(tx uint64) bool {
	if tx < s.Min {
		return true
	}
	if tx >= s.Max {
		return false
	}
	_, running := slices.BinarySearch(s.Running, tx)
	return !running
}

// Includes says whether everything that other sees is seen.
func (s Snapshot) Includes(other Snapshot) bool {
	if s.Max < other.Max {
		return false
	}
	for _, tx := range s.Running {
		if other.Sees(tx) {
			return false
		}
	}
	return true
}

// Equal says whether both see the same.
func (s Snapshot) Equal(other Snapshot) bool { return s.Includes(other) && other.Includes(s) }

// String returns the text form.
func (s Snapshot) String() string {
	running := make([]string, len(s.Running))
	for i, tx := range s.Running {
		running[i] = strconv.FormatUint(tx, 10)
	}
	return fmt.Sprintf("%d:%d:%s", s.Min, s.Max, strings.Join(running, ","))
}

// MarshalText is String.
func (s Snapshot) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Settled says whether the lane's cursor has passed a position of a transaction.
func (l Lane) Settled(tx uint64, position int64) bool {
	if tx == 0 {
		return false
	}
	return l.Drained.Sees(tx) || l.Target != nil && l.Target.Sees(tx) && position <= l.Position
}

// moved says whether the cursor differs.
func (l Lane) moved(to Lane) bool {
	same := l.Drained.Equal(to.Drained) && (l.Target == nil) == (to.Target == nil)
	if same && l.Target != nil {
		same = l.Target.Equal(*to.Target) && l.Position == to.Position
	}
	return !same
}
