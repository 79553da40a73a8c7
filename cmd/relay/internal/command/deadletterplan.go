package command

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
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
	Done     []int64           `json:"-"`

	letters []retry.DeadLetter
	verb    *deadLetterVerb
	bulk    bool
}

// plan chooses.
func (d *deadLetters) plan(ctx context.Context, v *deadLetterVerb, o *deadLetterOrder) (*deadLetterPlan, error) {
	p := &deadLetterPlan{Action: v.name, Database: d.database, Group: d.group, Missing: []string{}, verb: v, bulk: o.bulk}
	var err error
	if o.bulk {
		groups, err := d.Groups(ctx, o.filter, false, false)
		if err != nil {
			return nil, err
		}
		p.Matching = countOf(groups)
		if p.letters, err = d.List(ctx, o.filter); err != nil {
			return nil, err
		}
	} else if err = p.find(ctx, d, o); err != nil {
		return nil, err
	}
	p.Planned = len(p.letters)
	p.Groups = groupsOf(group(p.letters))
	p.IDs = make([]string, len(p.letters))
	for i, l := range p.letters {
		p.IDs[i] = strconv.FormatInt(l.ID, 10)
	}
	return p, nil
}

// find looks for what was named, and notes what is not there.
func (p *deadLetterPlan) find(ctx context.Context, d *deadLetters, o *deadLetterOrder) error {
	for _, filter := range []retry.Filter{{IDs: o.ids, Limit: most}, {EventIDs: o.events, Limit: most}} {
		if len(filter.IDs)+len(filter.EventIDs) == 0 {
			continue
		}
		list, err := d.List(ctx, filter)
		if err != nil {
			return err
		}
		for _, l := range list {
			if !slices.ContainsFunc(p.letters, func(have retry.DeadLetter) bool { return have.ID == l.ID }) {
				p.letters = append(p.letters, l)
			}
		}
	}
	for _, id := range o.ids {
		if !slices.ContainsFunc(p.letters, func(l retry.DeadLetter) bool { return l.ID == id }) {
			p.Missing = append(p.Missing, strconv.FormatInt(id, 10))
		}
	}
	for _, event := range o.events {
		if !slices.ContainsFunc(p.letters, func(l retry.DeadLetter) bool { return l.EventID == event }) {
			p.Missing = append(p.Missing, event)
		}
	}
	p.Matching = int64(len(p.letters))
	return nil
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

func (p *deadLetterPlan) write(cmd *cobra.Command, format output.Format) error {
	w := cmd.OutOrStdout()
	if format != output.Text {
		return p.writeData(cmd, format)
	}
	if len(p.letters) == 0 {
		_, err := fmt.Fprintf(w, "No dead letter of group %s in %s is chosen.\n", p.Group, p.Database)
		return err
	}
	count := output.Count(int64(len(p.letters)), "dead letter")
	if int64(len(p.letters)) < p.Matching {
		count = fmt.Sprintf("%s of %s (--limit)", output.Number(int64(len(p.letters))), output.Count(p.Matching, "dead letter"))
	}
	if _, err := fmt.Fprintf(w, "%s %s of group %s in %s:\n\n", p.verb.name, count, p.Group, p.Database); err != nil {
		return err
	}
	if err := groupTable(group(p.letters), true, true).Write(w); err != nil {
		return err
	}
	if len(p.Missing) > 0 {
		if _, err := fmt.Fprintf(w, "\nNot there: %s\n", strings.Join(p.Missing, ", ")); err != nil {
			return err
		}
	}
	if p.bulk {
		if f := cmd.Flags().Lookup("apply"); f != nil && !f.Changed {
			_, err := fmt.Fprintf(w, "\nNothing was changed: add --apply and --reason to %s.\n", p.verb.name)
			return err
		}
	}
	return nil
}

// writeDone says what was done.
func (p *deadLetterPlan) writeDone(cmd *cobra.Command, format output.Format) error {
	p.IDs = make([]string, len(p.Done))
	for i, id := range p.Done {
		p.IDs[i] = strconv.FormatInt(id, 10)
	}
	if format != output.Text {
		return p.writeData(cmd, format)
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "\n%s %s.\n", p.verb.done, output.Count(int64(len(p.Done)), "dead letter"))
	return err
}

func (p *deadLetterPlan) writeData(cmd *cobra.Command, format output.Format) error {
	if format != output.Name {
		return output.WriteJSON(cmd.OutOrStdout(), format, p)
	}
	for _, id := range p.IDs {
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), id); err != nil {
			return err
		}
	}
	return nil
}

// outcome is how the command ends: with what stopped it, or because not everything was there.
func (p *deadLetterPlan) outcome(err error) error {
	switch {
	case err != nil && len(p.Done) > 0:
		return &exit.Error{Code: exit.Partial, Err: fmt.Errorf("%s of %s, then: %w", output.Number(int64(len(p.Done))),
			output.Count(int64(p.Planned), "dead letter"), err), Hint: "what was done is done; run it again for the rest"}
	case err != nil:
		return err
	case len(p.Missing) > 0:
		return exit.Errorf(exit.Partial, "not there: %s", strings.Join(p.Missing, ", ")).
			WithHint("somebody requeued or discarded it: relay dead-letter show ID says who")
	case len(p.Done) < p.Planned:
		return exit.Errorf(exit.Partial, "%s of %s: the others were not there any more", output.Number(int64(len(p.Done))),
			output.Count(int64(p.Planned), "dead letter")).WithHint("somebody requeued or discarded them meanwhile")
	}
	return nil
}
