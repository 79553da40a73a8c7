package rebase

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// snapshot is a pg_snapshot: an id is in it when it is below xmax and not among the running.
type snapshot struct {
	xmax    uint64
	running []uint64 // ascending
}

func parseSnapshot(text string) (snapshot, error) {
	bad := fmt.Errorf("parse snapshot %q", text)
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return snapshot{}, bad
	}
	var s snapshot
	var err error
	if s.xmax, err = strconv.ParseUint(parts[1], 10, 64); err != nil {
		return snapshot{}, bad
	}
	if parts[2] == "" {
		return s, nil
	}
	for id := range strings.SplitSeq(parts[2], ",") {
		n, err := strconv.ParseUint(id, 10, 64)
		if err != nil {
			return snapshot{}, bad
		}
		s.running = append(s.running, n)
	}
	return s, nil
}

// without returns s in which these ids count as running too.
func (s snapshot) without(ids ...uint64) snapshot {
	running := slices.Concat(s.running, ids)
	running = slices.DeleteFunc(running, func(id uint64) bool { return id >= s.xmax })
	slices.Sort(running)
	return snapshot{xmax: s.xmax, running: slices.Compact(running)}
}

// String returns the text that the database reads.
func (s snapshot) String() string {
	xmin := s.xmax
	ids := make([]string, len(s.running))
	for i, id := range s.running {
		xmin = min(xmin, id)
		ids[i] = strconv.FormatUint(id, 10)
	}
	return fmt.Sprintf("%d:%d:%s", xmin, s.xmax, strings.Join(ids, ","))
}
