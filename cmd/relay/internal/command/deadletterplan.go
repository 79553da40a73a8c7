package command

import (
	"context"
	"slices"

	"github.com/holdfast-dev/holdfast/relay/retry"
)

// deadLetterPlan is what an act would do, and then what it did: a contract, only ever added to.
type deadLetterPlan struct {
	Action   string            `json:"action"`
	Database string            `json:"database"`
	Group    string            `json:"group"`
	Matching int64             `json:"matching"` // also beyond the limit
	Planned  int               `json:"planned"`
	Groups   []deadLetterGroup `json:"groups"` // of those that are planned
	Missing  []string          `json:"missing"`
	Applied  bool              `json:"applied"`
	IDs      []string          `json:"ids"` // planned, or once applied those that were moved
}

// plan finds what was named, or what the filter chooses.
func (d *deadLetters) plan(ctx context.Context, b *bulk, filter retry.Filter, named []string) error {
	var letters []retry.DeadLetter
	if b.byFlags {
		groups, err := d.Groups(ctx, filter, false, false)
		if err != nil {
			return err
		}
		if letters, err = d.List(ctx, filter); err != nil {
			return err
		}
		b.matching = countOf(groups)
	} else {
		var err error
		if letters, b.missing, err = d.find(ctx, named); err != nil {
			return err
		}
		b.matching = int64(len(letters))
	}
	for _, l := range letters {
		b.ids = append(b.ids, l.ID)
	}
	groups := group(letters)
	b.table = groupTable(groups, true, true)
	b.data = func(r *bulkReport) any {
		return deadLetterPlan{r.Action, r.Database, d.group, r.Matching, r.Planned, groupsOf(groups), r.Missing, r.Applied, r.IDs}
	}
	return nil
}

// find looks for what was named, and says what is not there.
func (d *deadLetters) find(ctx context.Context, named []string) (letters []retry.DeadLetter, missing []string, err error) {
	ids, events := splitIDs(named)
	for _, filter := range []retry.Filter{{IDs: ids, Limit: most}, {EventIDs: events, Limit: most}} {
		if len(filter.IDs)+len(filter.EventIDs) == 0 {
			continue
		}
		list, err := d.List(ctx, filter)
		if err != nil {
			return nil, nil, err
		}
		for _, l := range list {
			if !slices.ContainsFunc(letters, func(have retry.DeadLetter) bool { return have.ID == l.ID }) {
				letters = append(letters, l)
			}
		}
	}
	found := make([]int64, len(letters))
	for i, l := range letters {
		found[i] = l.ID
	}
	missing = without(ids, found)
	for _, event := range events {
		if !slices.ContainsFunc(letters, func(l retry.DeadLetter) bool { return l.EventID == event }) {
			missing = append(missing, event)
		}
	}
	return letters, missing, nil
}

// group counts by reason and type.
func group(letters []retry.DeadLetter) []retry.Group {
	var groups []retry.Group
	for _, l := range letters {
		i := slices.IndexFunc(groups, func(g retry.Group) bool { return g.Reason == l.Reason && g.Type == l.Type })
		if i < 0 {
			i = len(groups)
			groups = append(groups, retry.Group{Reason: l.Reason, Type: l.Type, Oldest: l.DeadAt, Newest: l.DeadAt})
		}
		g := &groups[i]
		g.Count++
		if l.DeadAt.Before(g.Oldest) {
			g.Oldest = l.DeadAt
		}
		if l.DeadAt.After(g.Newest) {
			g.Newest = l.DeadAt
		}
	}
	return groups
}
